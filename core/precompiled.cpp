// SPDX-License-Identifier: GPL-3.0-or-later
// Empty: a target that precompiles headers for others needs a source.
