// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QWidget>
#include <array>

class QLabel;
class QPlainTextEdit;
class QTabWidget;

namespace tunesmith {

// One kernel on its way to machine code. Lines count from 0; no lines: nothing is marked.
struct KernelText {
    QString title, schedule;
    QString loops, llvmIr, assembly;
    int hotLine = 0, hotLines = 0; // of the assembly
    QString hotLoop;               // what is said of it
};

// Loop nest, LLVM IR and assembly of a kernel side by side as tabs; the loop where its time goes is marked and in view.
class KernelView : public QWidget {
    Q_OBJECT
public:
    explicit KernelView(QWidget* parent = nullptr);

    void showKernel(const KernelText& kernel);
    void showMessage(const QString& text); // instead of a kernel
    QPlainTextEdit* page(int index) const { return pages_[static_cast<std::size_t>(index)]; }
    QString summary() const;

private:
    static constexpr int kPages = 3;
    void markHotLoop();

    QLabel *title_, *schedule_;
    QTabWidget* tabs_;
    std::array<QPlainTextEdit*, kPages> pages_{};
    int hotLine_ = 0, hotLines_ = 0;
};

} // namespace tunesmith
