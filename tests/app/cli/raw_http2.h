// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QByteArray>
#include <QElapsedTimer>
#include <QString>
#include <QtEndian>
#include <netinet/in.h>
#include <poll.h>
#include <stop_token>
#include <sys/socket.h>

#include "core/base/descriptor.h"

namespace tunesmith::testing {

// Frames of HTTP/2 and HPACK's simplest form, for what no client would send.
enum FrameKind : char { kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kContinuation = 9, kUnknown = 99 };
inline constexpr char kEndHeaders = 4;
inline const QByteArray kPreface = QByteArray("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

inline QByteArray frame(FrameKind kind, char flags, quint32 stream, const QByteArray& payload = {}) {
    QByteArray text(9, '\0');
    qToBigEndian<quint32>(static_cast<quint32>(payload.size()) << 8, text.data());
    text[3] = kind;
    text[4] = flags;
    qToBigEndian(stream, text.data() + 5);
    return text + payload;
}

inline QByteArray hpackNumber(quint32 value) { // with a prefix of 7 bits
    if (value < 127)
        return QByteArray(1, static_cast<char>(value));
    QByteArray text(1, '\x7f');
    for (value -= 127; value >= 128; value /= 128)
        text += static_cast<char>(value % 128 + 128);
    return text + static_cast<char>(value);
}

inline QByteArray header(const QByteArray& name, const QByteArray& value) {
    return '\x10' + hpackNumber(static_cast<quint32>(name.size())) + name + hpackNumber(static_cast<quint32>(value.size())) + value;
}

// The beginning of a call.
inline QByteArray headersOf(const QByteArray& method) {
    return header(":method", "POST") + header(":scheme", "http") + header(":path", "/tunesmith.remote." + method) + header(":authority", "x") + header("te", "trailers") +
           header("content-type", "application/grpc");
}

// One connection that sends, and reads nothing that it would act on.
class RawConnection {
public:
    explicit RawConnection(const QString& address) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        where.sin_port = htons(address.section(':', 1).toUShort());
        const timeval patience{2, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        connected_ = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    }
    // False: the other side has ended the connection, or takes nothing.
    bool send(const QByteArray& bytes) {
        for (qsizetype sent = 0; connected_ && sent < bytes.size();) {
            const ssize_t now = ::send(socket_.get(), bytes.data() + sent, static_cast<std::size_t>(bytes.size() - sent), MSG_NOSIGNAL);
            connected_ = now > 0;
            sent += now;
        }
        return connected_;
    }
    // Whether the other side ends that within 20 s. `next`: the bytes, made anew each time.
    template <class Next> bool endsFlood(const Next& next) {
        QElapsedTimer clock;
        clock.start();
        while (clock.elapsed() < 20'000)
            if (!send(next()))
                return true;
        return false;
    }
    bool greet() { return send(kPreface + frame(kSettings, 0, 0)); }
    // Until somebody stops it: who answers none is taken for gone after 5 s.
    void answerPings(const std::stop_token& stop) {
        QByteArray came;
        while (!stop.stop_requested()) {
            char bytes[4096];
            pollfd state{socket_.get(), POLLIN, 0};
            if (::poll(&state, 1, 50) != 1)
                continue;
            const ssize_t now = ::recv(socket_.get(), bytes, sizeof bytes, 0);
            if (now <= 0)
                return;
            came.append(bytes, now);
            for (qsizetype size = 0; came.size() >= 9 && came.size() >= (size = 9 + (qFromBigEndian<quint32>(came.constData()) >> 8)); came.remove(0, size))
                if (came[3] == kPing && came[4] == 0)
                    send(frame(kPing, 1, 0, came.mid(9, 8)));
        }
    }
    // Whether the other side ends the connection before that.
    bool ends(int ms) {
        char bytes[4096];
        for (pollfd state{socket_.get(), POLLIN, 0}; ::poll(&state, 1, ms) == 1;)
            if (::recv(socket_.get(), bytes, sizeof bytes, 0) <= 0)
                return true;
        return false;
    }

private:
    Descriptor socket_;
    bool connected_ = false;
};

} // namespace tunesmith::testing
