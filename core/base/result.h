// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tunesmith {

// What a caller may want to do differently about. A cancelled call is reported through the same channel so that it
// unwinds like an error, but is never shown as one.
enum class ErrorKind { input, unsupported, io, cancelled, timeout, internal };

// One clear sentence for the person at the screen: what, where (file, node, option) and what to do about it. It stays
// on one line: names out of files may hold line breaks and worse, control characters become spaces.
struct Error {
    Error() = default;
    Error(ErrorKind itsKind, std::string sentence);

    ErrorKind kind = ErrorKind::input;
    std::string message;

    // The same error seen from one level up: "resnet.onnx: " + message.
    Error within(const std::string& where) const { return {kind, where + ": " + message}; }
    bool isCancelled() const { return kind == ErrorKind::cancelled; }
};

inline Error inputError(std::string message) { return {ErrorKind::input, std::move(message)}; }
inline Error unsupportedError(std::string message) { return {ErrorKind::unsupported, std::move(message)}; }
inline Error ioError(std::string message) { return {ErrorKind::io, std::move(message)}; }
inline Error timeoutError(std::string message) { return {ErrorKind::timeout, std::move(message)}; }
inline Error internalError(std::string message) { return {ErrorKind::internal, std::move(message)}; }
inline Error cancelledError() { return {ErrorKind::cancelled, "cancelled"}; }

// A value or the reason why there is none. Deliberately without operator bool: `if (result)` on a Result<bool> is a bug.
template <class T> class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    T& value() & { return assert(ok()), std::get<0>(state_); }
    const T& value() const& { return assert(ok()), std::get<0>(state_); }
    T&& value() && { return assert(ok()), std::get<0>(std::move(state_)); }
    T valueOr(T fallback) const { return ok() ? std::get<0>(state_) : std::move(fallback); }
    const Error& error() const { return assert(!ok()), std::get<1>(state_); }

    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

private:
    std::variant<T, Error> state_;
};

template <> class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool ok() const { return !error_; }
    const Error& error() const { return assert(error_), *error_; }

private:
    std::optional<Error> error_;
};

using Status = Result<void>;

#define TS_CONCAT_INNER(a, b) a##b
#define TS_CONCAT(a, b) TS_CONCAT_INNER(a, b)

// TS_TRY(expr): return the error of a Status-like expression to the caller.
#define TS_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        if (auto tsStatus = (expr); !tsStatus.ok())                                                                    \
            return tsStatus.error();                                                                                   \
    } while (false)

// TS_ASSIGN(auto graph, importOnnx(path)): declare or assign the value, or return the error.
#define TS_ASSIGN(target, expr)                                                                                        \
    auto TS_CONCAT(tsResult, __LINE__) = (expr);                                                                       \
    if (!TS_CONCAT(tsResult, __LINE__).ok())                                                                           \
        return TS_CONCAT(tsResult, __LINE__).error();                                                                  \
    target = std::move(TS_CONCAT(tsResult, __LINE__)).value()

} // namespace tunesmith
