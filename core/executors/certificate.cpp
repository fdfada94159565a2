// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/certificate.h"

#include <arpa/inet.h>
#include <ctime>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "core/base/printable.h"
#include "core/base/result.h"

namespace tunesmith {
namespace {

template <auto release> struct Releaser {
    template <class T> void operator()(T* what) const { release(what); }
};
using Memory = std::unique_ptr<BIO, Releaser<BIO_free>>;
using Certificate = std::unique_ptr<X509, Releaser<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;

Memory memoryOf(const std::string& text) { return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }
int noPassword(char*, int, int, void*) { return -1; } // instead of a question at the terminal

Certificate readCertificate(const std::string& pem) {
    Certificate certificate(PEM_read_bio_X509(memoryOf(pem).get(), nullptr, noPassword, nullptr));
    ERR_clear_error(); // gRPC shares this thread's list of errors
    return certificate;
}

std::string dayOf(const ASN1_TIME* time) {
    std::tm moment{};
    char text[32] = "an unknown day";
    if (ASN1_TIME_to_tm(time, &moment) == 1)
        std::strftime(text, sizeof text, "%Y-%m-%d", &moment);
    return text;
}

std::string textOf(const GENERAL_NAME* name) {
    int kind = 0;
    const auto* text = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(name, &kind));
    if (kind != GEN_DNS && kind != GEN_IPADD)
        return {};
    const std::string bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<std::size_t>(ASN1_STRING_length(text)));
    char address[INET6_ADDRSTRLEN] = {};
    if (kind == GEN_IPADD)
        return ::inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), address, sizeof address) ? address : "";
    return bytes;
}

bool isPast(const ASN1_TIME* time) { return X509_cmp_current_time(time) < 0; }

} // namespace

Status checkCertificate(const std::string& certificate, const std::string& key) {
    const Certificate own = readCertificate(certificate);
    if (!own)
        return inputError("it holds no certificate that can be read");
    const Key secret(PEM_read_bio_PrivateKey(memoryOf(key).get(), nullptr, noPassword, nullptr));
    const bool fits = secret && X509_check_private_key(own.get(), secret.get()) == 1;
    ERR_clear_error();
    if (!fits)
        return inputError("the key of --tls-key is not its key, or cannot be read without a password");
    if (isPast(X509_get0_notAfter(own.get())))
        return inputError("the certificate expired on " + dayOf(X509_get0_notAfter(own.get())) + "; make a new one");
    if (!isPast(X509_get0_notBefore(own.get())))
        return inputError("the certificate is not valid before " + dayOf(X509_get0_notBefore(own.get())) + "; is the clock right?");
    return {};
}

Status checkTrusted(const std::string& certificates) {
    const Memory text = memoryOf(certificates);
    int count = 0;
    while (const Certificate one{PEM_read_bio_X509(text.get(), nullptr, noPassword, nullptr)})
        ++count;
    const bool atEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    return count > 0 && atEnd ? Status() : Status(inputError("it holds no certificate that can be read; name the file of the one to trust, such as the tracker's --cert"));
}

bool isFor(const std::string& certificate, const std::string& host) {
    const Certificate own = readCertificate(certificate);
    return own && (X509_check_ip_asc(own.get(), host.c_str(), 0) == 1 || X509_check_host(own.get(), host.data(), host.size(), 0, nullptr) == 1);
}

std::string namesIn(const std::string& certificate) {
    const Certificate own = readCertificate(certificate);
    const std::unique_ptr<GENERAL_NAMES, Releaser<GENERAL_NAMES_free>> names(own ? static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(own.get(), NID_subject_alt_name, nullptr, nullptr)) : nullptr);
    std::string list;
    for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i)
        if (const std::string text = textOf(sk_GENERAL_NAME_value(names.get(), i)); !text.empty())
            list += (list.empty() ? "" : ", ") + text;
    char common[256] = {};
    if (list.empty() && own && X509_NAME_get_text_by_NID(X509_get_subject_name(own.get()), NID_commonName, common, sizeof common) > 0)
        list = common;
    ERR_clear_error();
    return list.empty() ? "nobody" : printable(list);
}

std::optional<std::string> expiryOf(const std::string& certificate) {
    const Certificate own = readCertificate(certificate);
    if (!own || !isPast(X509_get0_notAfter(own.get())))
        return {};
    return dayOf(X509_get0_notAfter(own.get()));
}

} // namespace tunesmith
