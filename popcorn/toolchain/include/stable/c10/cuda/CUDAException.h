#pragma once
#include "popcorn_torch_cuda.h"
