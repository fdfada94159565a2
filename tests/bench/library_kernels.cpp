// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/library_kernels.h"

#ifdef BENCH_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#include <omp.h>
#endif
#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif

namespace tunesmith {

#ifdef BENCH_ONEDNN
namespace {

using Tag = dnnl::memory::format_tag;

struct OneDnn {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    static OneDnn& instance() {
        omp_set_num_threads(1);
        static OneDnn one;
        return one;
    }
    dnnl::memory filled(const dnnl::memory::desc& desc) const {
        dnnl::memory memory(desc, engine);
        auto* values = static_cast<float*>(memory.get_data_handle());
        for (std::size_t i = 0; i < desc.get_size() / sizeof(float); ++i)
            values[i] = static_cast<float>(i % 17) / 16.0f - 0.5f;
        return memory;
    }
};

dnnl::memory::desc floats(const dnnl::memory::dims& dims, Tag tag = Tag::any) { return {dims, dnnl::memory::data_type::f32, tag}; }

template <class Primitive> std::function<void()> callOf(const typename Primitive::primitive_desc& made) {
    OneDnn& one = OneDnn::instance();
    std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SRC, one.filled(made.src_desc())},
                                                    {DNNL_ARG_WEIGHTS, one.filled(made.weights_desc())},
                                                    {DNNL_ARG_BIAS, one.filled(made.bias_desc())},
                                                    {DNNL_ARG_DST, one.filled(made.dst_desc())}};
    return [primitive = Primitive(made), arguments, &one] {
        primitive.execute(one.stream, arguments);
        one.stream.wait();
    };
}

} // namespace

std::function<void()> oneDnnConvolution(const ConvShape& c) {
    const dnnl::memory::dims weights = c.groups > 1
                                           ? dnnl::memory::dims{c.groups, c.outputs / c.groups, c.channels / c.groups, c.kernel, c.kernel}
                                           : dnnl::memory::dims{c.outputs, c.channels, c.kernel, c.kernel};
    dnnl::post_ops operations;
    operations.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(operations);
    const dnnl::convolution_forward::desc wanted(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto,
                                                 floats({1, c.channels, c.size, c.size}), floats(weights), floats({c.outputs}, Tag::x),
                                                 floats({1, c.outputs, c.outputSize(), c.outputSize()}), {c.stride, c.stride},
                                                 {c.pad(), c.pad()}, {c.pad(), c.pad()});
    return callOf<dnnl::convolution_forward>({wanted, attributes, OneDnn::instance().engine});
}

std::function<void()> oneDnnProduct(const ProductShape& p) {
    const dnnl::inner_product_forward::desc wanted(dnnl::prop_kind::forward_inference, floats({p.rows, p.depth}),
                                                   floats({p.columns, p.depth}), floats({p.columns}, Tag::x), floats({p.rows, p.columns}));
    return callOf<dnnl::inner_product_forward>({wanted, OneDnn::instance().engine});
}
#else
std::function<void()> oneDnnConvolution(const ConvShape&) { return {}; }
std::function<void()> oneDnnProduct(const ProductShape&) { return {}; }
#endif

#ifdef BENCH_OPENBLAS
std::function<void()> openBlasProduct(const ProductShape& p) {
    openblas_set_num_threads(1);
    const auto matrix = [](std::int64_t rows, std::int64_t columns) {
        return std::make_shared<std::vector<float>>(static_cast<std::size_t>(rows * columns), 0.5f);
    };
    return [a = matrix(p.rows, p.depth), b = matrix(p.depth, p.columns), c = matrix(p.rows, p.columns), p] {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(p.rows), static_cast<int>(p.columns),
                    static_cast<int>(p.depth), 1.0f, a->data(), static_cast<int>(p.depth), b->data(), static_cast<int>(p.columns), 0.0f,
                    c->data(), static_cast<int>(p.columns));
    };
}
#else
std::function<void()> openBlasProduct(const ProductShape&) { return {}; }
#endif

} // namespace tunesmith
