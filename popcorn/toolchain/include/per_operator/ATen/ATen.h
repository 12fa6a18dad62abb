#pragma once
#include "popcorn_aten.h"
