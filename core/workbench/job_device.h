// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/tune_jobs.h"

namespace tunesmith {

// Inside core/workbench only: from whose tracker a job gets its devices. A job may come from elsewhere, and a tracker gets the token. So the user's token goes only to a tracker that
// the user names, and the user alone says how safely: the authority and `insecure` of the job are those of its own token.

// `remote` is what the user wants instead of what the job says; `offered` is for jobs that name no tracker, or that one. An Error names the job and what to give.
Result<DeviceChoice> deviceOfJob(const TuneJob& job, const DeviceChoice& remote, const DeviceChoice& offered);

} // namespace tunesmith
