// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What everything here that makes IR includes. LLVM's folder is a system folder to the compiler: our warnings stop there.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
