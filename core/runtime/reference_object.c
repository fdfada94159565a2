// SPDX-License-Identifier: GPL-3.0-or-later
/* The bytes of the object that reference.cmake makes: as a list of numbers they would take a compiler too long. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl ts_reference_object_begin\n"
        ".globl ts_reference_object_end\n"
        ".hidden ts_reference_object_begin\n"
        ".hidden ts_reference_object_end\n"
        "ts_reference_object_begin:\n"
        ".incbin \"" REFERENCE_OBJECT "\"\n"
        "ts_reference_object_end:\n"
        ".text\n");
