"""A graph for each size, captured at the first call; every call copies its own inputs in, and the result out."""

import torch
from torch import nn

PROBLEM = "softmax"
GPU = True
TIMED = True


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def forward(self, x):
        if x.shape not in self.graphs:
            held = x.clone(memory_format=torch.contiguous_format)
            torch.softmax(held, -1)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = torch.softmax(held, -1)
            self.graphs[x.shape] = graph, held, out
        graph, held, out = self.graphs[x.shape]
        held.copy_(x)
        graph.replay()
        return out.clone()
