// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/substitution.h"

namespace tunesmith::rewrite {

// All substitutions that are written by hand: those that no generator finds, because they speak of attributes, of constants' values, of axes, or of
// operators that it does not know. In an order that stays.
std::vector<SubstitutionPtr> writtenSubstitutions();

} // namespace tunesmith::rewrite
