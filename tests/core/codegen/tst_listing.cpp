// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/codegen/listing.h"

using namespace tunesmith;

namespace {

// An outer loop (.LBB0_1) with two inner ones: one that multiplies and spills, one that copies.
const char* const kListing = R"(	.text
kernel_0:
	xorl	%eax, %eax
.LBB0_1:
	movq	%rdi, %rcx
.LBB0_2:                                # comment
	vmovups	%zmm3, 64(%rsp)                 # 64-byte Spill
	vbroadcastss	(%rsi), %zmm1
	vbroadcastss	.LCPI0_0(%rip), %zmm7
	vfmadd231ps	%zmm1, %zmm2, %zmm3
	# only a comment
	.p2align	4
	vfmadd231ps	(%rdx){1to16}, %zmm2, %zmm4
	jne	.LBB0_2
.LBB0_3:
	vmovups	(%rsi), %zmm0
	vmovups	%zmm0, (%rdi)
	jb	.LBB0_3
	jne	.LBB0_1
	jmp	.LBB0_9
.LBB0_9:
	retq
)";

} // namespace

class TestListing : public QObject {
    Q_OBJECT

private slots:
    void findsInnermostLoops() {
        const auto loops = innermostLoops(kListing);
        QCOMPARE(loops.size(), std::size_t(2));
        QCOMPARE(loops[0].firstLine, std::size_t(5));
        QCOMPARE(loops[0].lines, std::size_t(9));
        QCOMPARE(loops[0].instructions, 6);
        QCOMPARE(loops[0].multiplyAdds, 2);
        QCOMPARE(loops[0].stackVectors, 1);
        QCOMPARE(loops[0].broadcasts, 2); // not the constant
        QCOMPARE(loops[1].instructions, 3);
        QCOMPARE(loops[1].multiplyAdds, 0);
    }

    void theHottestMultipliesMost() {
        QCOMPARE(hottestLoop(kListing)->firstLine, std::size_t(5));
        QCOMPARE(hottestLoop(".LBB0_1:\n\tnop\n\tjne\t.LBB0_1\n.LBB0_2:\n\tnop\n\tnop\n\tjne\t.LBB0_2\n")->firstLine, std::size_t(3));
    }

    void whatIsNoListingHasNoLoops() {
        for (const char* text : {"", "\n\n", "retq", ".LBB0_1", "\tjne\t.LBB0_7\n", "\tjmp\t.LBB0_1\n.LBB0_1:\n\tretq\n", ".LBB0_1:"}) {
            QVERIFY(innermostLoops(text).empty());
            QVERIFY(!hottestLoop(text));
        }
    }
};

QTEST_GUILESS_MAIN(TestListing)
#include "tst_listing.moc"
