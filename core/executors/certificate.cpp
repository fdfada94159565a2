// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/certificate.h"

#include <ctime>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

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

std::optional<std::string> expiryOf(const std::string& certificate) {
    const Certificate own = readCertificate(certificate);
    if (!own || !isPast(X509_get0_notAfter(own.get())))
        return {};
    return dayOf(X509_get0_notAfter(own.get()));
}

} // namespace tunesmith
