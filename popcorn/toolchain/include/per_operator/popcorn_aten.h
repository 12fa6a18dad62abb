// at::Tensor with its methods, and the operators that the text names (POPCORN_OPERATORS, a generated header), instead of all of torch.
#pragma once

#include <math.h>
#include <stdlib.h>

#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "popcorn_operators.h"

namespace torch {
using namespace at;
}
