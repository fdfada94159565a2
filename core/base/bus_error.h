// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tunesmith {

// A file that is mapped has no pages any more where another program has cut it off meanwhile: whoever reads them gets SIGBUS, be it SQLite with the
// index of a store's log, or a kernel with weights. No lock keeps others from that. After this call the program then ends with a sentence that
// names the file, on stderr, and status 1, and what it was about to do is not done. Programs that it starts do not inherit this.
void tellBusErrors();

} // namespace tunesmith
