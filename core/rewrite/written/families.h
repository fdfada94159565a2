// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/substitution.h"

namespace tunesmith::rewrite {

// The substitutions written by hand, a family a file.
void addBatchNormSubstitutions(std::vector<SubstitutionPtr>& all);
void addBiasSubstitutions(std::vector<SubstitutionPtr>& all);
void addGemmSubstitutions(std::vector<SubstitutionPtr>& all);
void addScaleSubstitutions(std::vector<SubstitutionPtr>& all);
void addPadSubstitutions(std::vector<SubstitutionPtr>& all);
void addCleaningSubstitutions(std::vector<SubstitutionPtr>& all);
void addChainSubstitutions(std::vector<SubstitutionPtr>& all);
void addMotionSubstitutions(std::vector<SubstitutionPtr>& all);
void addPartsMotionSubstitutions(std::vector<SubstitutionPtr>& all);
void addTransposeSubstitutions(std::vector<SubstitutionPtr>& all);
void addRecognitionSubstitutions(std::vector<SubstitutionPtr>& all);
void addGroupSubstitutions(std::vector<SubstitutionPtr>& all);
void addSliceSubstitutions(std::vector<SubstitutionPtr>& all);

} // namespace tunesmith::rewrite
