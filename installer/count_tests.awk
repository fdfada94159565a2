# SPDX-License-Identifier: GPL-3.0-or-later
# Adds up the JUnit files of ctest: "N passed, N failed, N skipped". A Qt Test program counts with each of its cases (its
# "Totals:" line), any other program, and one that died, as one. Reasons for skipping are listed first. Exit status 1 when
# anything failed or nothing passed.

function attribute(name) {
    if (!match($0, name "=\"[^\"]*\"")) return ""
    return substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 3)
}

# What XML escapes, as it was.
function plain(text) {
    gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text); gsub(/&apos;/, "'", text)
    gsub(/&amp;/, "\\&", text)
    return text
}

/<testcase / { name = attribute("name"); state = attribute("status"); totals = 0; inside = 1 }

inside && /Totals: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped/ {
    sub(/.*Totals: /, "")
    split($0, part, /[^0-9]+/)
    totals = 1
    passed += part[1]; cases += part[2]; skipped += part[3]; failed += part[2]
}

inside && /SKIP   : / { sub(/.*SKIP   : /, ""); reasons[++reasonCount] = plain($0) }

# A program that was not built is no skipped test.
inside && /<skipped message="Unable to find executable"/ { state = "fail" }

/<\/testcase>/ && inside {
    inside = 0
    if (state == "fail" && (!totals || cases == 0)) failed++
    else if (!totals && state == "run") passed++
    else if (!totals && state != "fail") { skipped++; reasons[++reasonCount] = name }
    cases = 0
}

END {
    for (i = 1; i <= reasonCount; i++) print "skipped: " reasons[i]
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit (failed > 0 || passed == 0)
}
