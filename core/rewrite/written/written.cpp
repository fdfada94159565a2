// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/written.h"

#include "core/rewrite/written/families.h"
#include "core/rewrite/written/merging.h"

namespace tunesmith::rewrite {

std::vector<SubstitutionPtr> writtenSubstitutions() {
    std::vector<SubstitutionPtr> all;
    addBatchNormSubstitutions(all);
    addBiasSubstitutions(all);
    addGemmSubstitutions(all);
    addScaleSubstitutions(all);
    addPadSubstitutions(all);
    addCleaningSubstitutions(all);
    addChainSubstitutions(all);
    addMotionSubstitutions(all);
    addPartsMotionSubstitutions(all);
    addTransposeSubstitutions(all);
    addRecognitionSubstitutions(all);
    addGroupSubstitutions(all);
    addSliceSubstitutions(all);
    addConvolutionMerging(all);
    addProductMerging(all);
    addSplitMotion(all);
    addSplitConcat(all);
    addHeadMotion(all);
    return all;
}

} // namespace tunesmith::rewrite
