#pragma once
#include "popcorn_torch.h"
