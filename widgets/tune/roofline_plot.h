// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/throttle.h"
#include "widgets/tune/tune_data.h"
#include <QWidget>
#include <array>

class QCustomPlot;
class QCPGraph;
class QCPTextElement;

namespace tunesmith {

// What the machine can do at most (Williams, Waterman and Patterson, CACM 2009).
struct Roof {
    double gflops = kUnknown; // arithmetic
    double gbs = kUnknown;    // memory, GB/s

    bool known() const { return gflops > 0 && gbs > 0; }
    double at(double intensity) const; // GFLOP/s at so many operations per byte; NaN when unknown
};

struct RooflineKernel {
    QString key, name;
    double flops = 0, bytes = 0; // of one run; bytes: everything read or written once
    double ms = kUnknown;
    int count = 1; // occurrences in the model

    bool drawable() const { return flops > 0 && bytes > 0 && ms > 0; }
    double intensity() const { return flops / bytes; }
    double gflops() const { return flops / ms / 1e6; }
};

// The share of the model's time that its kernels would need at their roofs: what is left to gain. NaN when unknown.
double shareOfRoof(const QVector<RooflineKernel>& kernels, const Roof& roof);

// Every kernel by its arithmetic intensity and speed under the machine's roof; the more of the model's time it takes, the larger
// its dot. A click chooses the nearest kernel. Algorithms with fewer multiplications than the direct one may pass the roof.
class RooflinePlot : public QWidget {
    Q_OBJECT
public:
    explicit RooflinePlot(QWidget* parent = nullptr);

    void setRoof(const Roof& roof);
    void setKernels(const QVector<RooflineKernel>& kernels);
    void setCurrent(const QString& key); // empty: none

    QString title() const;
    QString kernelText(const RooflineKernel& kernel) const;
    const RooflineKernel* nearest(QPoint position) const; // null when none is near
    QCustomPlot* plot() const { return plot_; }
    int dots() const;

signals:
    void kernelChosen(const QString& key);

private:
    static constexpr int kSizes = 3; // of dots
    void restyle();
    void refresh();
    void fillDots();
    void fitAxes();
    void drawRoof();
    void showTip(QPoint position, QPoint global);

    QCustomPlot* plot_;
    QCPTextElement* title_;
    QCPGraph* roofLine_;
    std::array<QCPGraph*, kSizes> dots_{};
    QCPGraph* current_;
    QVector<RooflineKernel> kernels_;
    Roof roof_;
    QString key_;
    Throttle throttle_;
};

} // namespace tunesmith
