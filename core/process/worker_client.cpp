// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/worker_client.h"
#include "core/process/error_json.h"
#include <algorithm>
#include <csignal>

namespace tunesmith {
namespace {

constexpr int kDyingMilliseconds = 500; // from the end of a crashing worker's stream to its death

std::string lastLine(const std::string& text) {
    const auto end = text.find_last_not_of(" \n\r\t");
    if (end == std::string::npos)
        return {};
    const auto before = text.find_last_of("\n\r", end);
    const auto begin = before == std::string::npos ? 0 : before + 1;
    return text.substr(begin, std::min<std::size_t>(end + 1 - begin, 300));
}

std::string seconds(std::chrono::steady_clock::duration timeout) {
    auto text = std::to_string(std::chrono::duration<double>(timeout).count());
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
        text.pop_back();
    return text + " s";
}

std::vector<int> numbersOf(const nlohmann::json& list) {
    std::vector<int> numbers;
    for (const auto& entry : list)
        if (entry.is_number_integer())
            numbers.push_back(entry.get<int>());
    return numbers;
}

CallReport withError(CallOutcome outcome, Error error) {
    CallReport report;
    report.outcome = outcome;
    report.error = std::move(error);
    return report;
}

// The worker wraps every answer: {"ok": true, "body": …} or {"ok": false, "error": …}.
CallReport unwrap(Message reply) {
    const auto ok = reply.body.find("ok");
    if (ok == reply.body.end() || !ok->is_boolean())
        return withError(CallOutcome::crashed, inputError("it sent an answer that is none"));
    if (!ok->get<bool>())
        return withError(CallOutcome::refused, errorFromJson(reply.body.value("error", nlohmann::json())));
    CallReport report;
    report.outcome = CallOutcome::replied;
    report.reply.body = std::move(reply.body["body"]);
    if (!report.reply.body.is_object()) // who asked looks into it
        return withError(CallOutcome::crashed, inputError("it sent an answer that is none"));
    report.reply.blobs = std::move(reply.blobs);
    return report;
}

} // namespace

Result<Message> CallReport::toResult() && {
    if (replied())
        return std::move(reply);
    return std::move(error);
}

Result<std::unique_ptr<WorkerClient>> WorkerClient::start(WorkerOptions options) {
    std::unique_ptr<WorkerClient> client(new WorkerClient(std::move(options)));
    TS_ASSIGN(client->process_, WorkerProcess::spawn(client->options_));
    return client;
}

Result<std::vector<std::string>> confinementGaps(WorkerClient& worker) {
    TS_ASSIGN(const Message reply, worker.call({{{"verb", worker_environment::kGapsVerb}}, {}}, std::chrono::seconds(60)));
    return reply.body.at("gaps").get<std::vector<std::string>>();
}

Status WorkerClient::restart() {
    process_.reset();
    TS_ASSIGN(process_, WorkerProcess::spawn(options_));
    ++restarts_;
    return {};
}

Result<std::optional<Message>> WorkerClient::transfer(const Message& request, const Wait& wait, std::size_t most, bool& sent) {
    TS_TRY(writeMessage(process_->socket(), request, wait));
    sent = true;
    return readMessage(process_->socket(), wait, most);
}

CallReport WorkerClient::exchange(const Message& request, std::chrono::steady_clock::duration timeout,
                                  const StopToken& stop, std::size_t most) {
    const auto deadline = std::chrono::steady_clock::now() + std::min<std::chrono::steady_clock::duration>(
                                                                 timeout, std::chrono::hours(24 * 365));
    if (stop.stopRequested())
        return withError(CallOutcome::cancelled, cancelledError());
    if (!alive())
        if (const Status status = restart(); !status.ok())
            return withError(CallOutcome::notStarted, status.error());

    if (const auto processors = request.body.find(worker_environment::kProcessors); processors != request.body.end())
        process_->keepTo(numbersOf(*processors));
    Wait wait{deadline, &stop, process_->errorPipe(), [this](Wait& current) {
                  process_->drainErrors();
                  current.sideFd = process_->errorPipe();
                  return process_->running();
              }};
    bool sent = false;
    Result<std::optional<Message>> reply = transfer(request, wait, most, sent);
    if (!reply.ok() && !sent && reply.error().kind == ErrorKind::input)
        return withError(CallOutcome::refused, reply.error());
    if (!reply.ok())
        return failed(reply.error(), timeout);
    if (!*reply)
        return failed(ioError("the worker closed its connection"), timeout);
    if (!(**reply).body.is_object())
        return failed(inputError("it sent an answer that is none"), timeout);
    CallReport report = unwrap(std::move(**reply));
    return report.outcome == CallOutcome::crashed ? failed(report.error, timeout) : report;
}

CallReport WorkerClient::failed(const Error& error, std::chrono::steady_clock::duration timeout) {
    const bool killed = error.kind == ErrorKind::timeout || error.kind == ErrorKind::cancelled;
    const bool garbage = error.kind == ErrorKind::input;
    CallReport report;
    report.end = process_->end(killed || garbage ? 0 : kDyingMilliseconds);
    report.errorTail = process_->errorTail();
    process_.reset();
    if (error.kind == ErrorKind::cancelled) {
        report.outcome = CallOutcome::cancelled;
        report.error = cancelledError();
    } else if (error.kind == ErrorKind::timeout) {
        report.outcome = CallOutcome::timedOut;
        report.error =
            timeoutError("the worker did not answer within " + seconds(timeout) + " and was killed");
    } else {
        report.outcome = CallOutcome::crashed;
        std::string text =
            garbage ? "the worker was killed: " + error.message : "the worker " + report.end.text();
        if (report.end.signal == SIGBUS)
            text += "; if a file that it had mapped was cut off meanwhile, as weights.bin of a module, that is why, and else its code is wrong";
        if (const std::string line = lastLine(report.errorTail); !line.empty())
            text += "; it last printed: " + line;
        report.error = internalError(std::move(text));
    }
    return report;
}

} // namespace tunesmith
