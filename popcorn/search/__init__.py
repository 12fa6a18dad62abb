"""Evolution of kernels: propose, judge, learn; and the way of what was found into the library. Imports without torch."""
