# SPDX-License-Identifier: GPL-3.0-or-later
"""Every model in the reference engine, compiled, exported as a module, tuned, exported as ONNX and rewritten, against ONNX Runtime on the same inputs.

Prints a table: the largest error of each as a share of the tolerance, which is 1e-3 of the element or 1e-4 of the output's largest
value. Ends with status 1 if a share is over 1."""
import sys

from models import arguments, cases
from ways import WAYS, row


def main():
    options = arguments(__doc__.splitlines()[0], ("--ort", dict(required=True, help="folder with ort.js and node_modules")))
    print("| model | " + " | ".join(WAYS) + " |\n|" + "---|" * (1 + len(WAYS)), flush=True)
    bad = [case.name for case in cases(options) if row(options, case)]
    print(f"\n{len(bad)} over the tolerance" + (": " + ", ".join(bad) if bad else ""))
    sys.exit(1 if bad else 0)


main()
