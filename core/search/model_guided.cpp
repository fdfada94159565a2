// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/model_guided.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/log.h"
#include "core/search/diversity.h"
#include "core/search/fitness.h"
#include "core/search/state_json.h"

namespace tunesmith {
namespace {

// Labels as the class comment says.
std::vector<float> labelsOf(std::span<const std::optional<double>> costs) {
    std::vector<float> labels;
    for (const double fitness : fitnessOf(costs))
        labels.push_back(static_cast<float>(fitness));
    return labels;
}

} // namespace

ModelGuidedStrategy::ModelGuidedStrategy(const Space& space, std::unique_ptr<CostModel> model,
                                         ModelGuidedOptions options)
    : space_(space), model_(std::move(model)), options_(std::move(options)), unseen_(space),
      rng_(options_.seed) {
    if (!options_.cost)
        options_.cost = [](const Trial& trial) { return trial.objectives.at(0).value; };
    if (options_.prior.features.rows > 0)
        fit(0);
}

std::vector<Config> ModelGuidedStrategy::propose(std::size_t count) {
    std::vector<Config> out;
    while (out.size() < count) {
        std::optional<Config> config = unseen_.nextStartingPoint();
        if (!config && model_->fitted())
            config = nextGuided();
        if (!config)
            config = unseen_.draw(rng_);
        if (!config)
            break;
        out.push_back(std::move(*config));
    }
    return out;
}

std::optional<Config> ModelGuidedStrategy::nextGuided() {
    const double dice = rng_.uniform();
    if (dice < options_.randomShare)
        return std::nullopt;
    if (dice < options_.randomShare + options_.localShare)
        if (auto config = nextLocal())
            return config;
    return nextPlanned();
}

// The unseen one that the model likes best of the neighbours of the best config.
std::optional<Config> ModelGuidedStrategy::nextLocal() {
    constexpr int kNeighbours = 32;
    const std::vector<std::size_t> order = bestFirst();
    std::vector<Config> fresh;
    for (int i = 0; i < kNeighbours && !order.empty(); ++i)
        if (Config config = space_.neighbour(configs_[order[0]], rng_);
            !unseen_.contains(space_.hash(config)))
            fresh.push_back(std::move(config));
    if (fresh.empty())
        return std::nullopt;
    const std::vector<float> scores = score(fresh);
    const std::size_t best = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
    unseen_.mark(fresh[best]);
    predictions_[space_.hash(fresh[best])] = scores[best];
    return fresh[best];
}

std::optional<Config> ModelGuidedStrategy::nextPlanned() {
    if (planStale_ || (planAt_ == plan_.size() && !planDry_))
        makePlan();
    while (planAt_ < plan_.size()) {
        ScoredConfig& planned = plan_[planAt_++];
        if (!unseen_.mark(planned.config))
            continue;
        predictions_[planned.hash] = planned.score;
        return planned.config;
    }
    return std::nullopt;
}

std::vector<float> ModelGuidedStrategy::score(std::span<const Config> configs) const {
    Result<std::vector<float>> scores = model_->predict(space_.features(configs));
    if (scores.ok())
        return std::move(scores).value();
    logMessage(LogLevel::warning, "cost model " + model_->name() + ": " + scores.error().message);
    return std::vector<float>(configs.size(), std::numeric_limits<float>::quiet_NaN());
}

void ModelGuidedStrategy::makePlan() {
    seedChains();
    const Annealer annealer(space_, options_.anneal);
    std::vector<ScoredConfig> pool = annealer.best(
        [this](std::span<const Config> configs) { return score(configs); },
        [this](std::uint64_t hash) { return unseen_.contains(hash); }, 2 * options_.plan, chains_, rng_);
    plan_ = pickDiverse(space_, std::move(pool), options_.plan, options_.diversity);
    planAt_ = 0;
    planStale_ = false;
    planDry_ = plan_.empty();
}

std::vector<std::size_t> ModelGuidedStrategy::bestFirst() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < configs_.size(); ++i)
        if (costs_[i])
            order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *costs_[i]; });
    return order;
}

// A quarter of the chains starts again from the best that was measured, the others go on from where they
// were.
void ModelGuidedStrategy::seedChains() {
    const std::vector<std::size_t> order = bestFirst();
    const std::size_t count = std::min(order.size(), options_.anneal.chains / 4);
    for (std::size_t i = 0; i < count; ++i) {
        if (i < chains_.size())
            chains_[i] = configs_[order[i]];
        else
            chains_.push_back(configs_[order[i]]);
    }
}

void ModelGuidedStrategy::observe(std::span<const Trial> trials) {
    for (const Trial& trial : trials) {
        if (!space_.validate(trial.asked).ok())
            continue; // of another space
        predictions_.erase(space_.hash(trial.asked));
        if (!trial.informative())
            continue;
        remember(*unseen_.learn(trial), trial.ok() ? std::optional(options_.cost(trial)) : std::nullopt);
    }
    fitIfDue();
}

void ModelGuidedStrategy::remember(const Config& config, std::optional<double> cost) {
    if (cost && !std::isfinite(*cost))
        cost.reset();
    configs_.push_back(config);
    costs_.push_back(cost);
    features_.append(space_.features(std::span(&config, 1)));
}

void ModelGuidedStrategy::fitIfDue() {
    const std::size_t fresh = configs_.size() - fittedRows_;
    if (configs_.size() >= options_.firstFit && fresh >= std::max(options_.refitStep, configs_.size() / 16))
        fit(configs_.size());
}

TrainingSet ModelGuidedStrategy::trainingSet(std::size_t rows) const {
    TrainingSet set;
    if (rows == 0)
        return set;
    set.features = features_.head(rows);
    set.labels = labelsOf(std::span(costs_).first(rows));
    set.groups = {static_cast<std::uint32_t>(rows)};
    return set;
}

void ModelGuidedStrategy::fit(std::size_t rows) {
    TrainingSet set = trainingSet(rows);
    if (options_.prior.features.rows > 0)
        set.append(options_.prior);
    fittedRows_ = rows;
    planStale_ = true;
    if (const Status status = model_->fit(set); !status.ok())
        logMessage(LogLevel::warning, "cost model " + model_->name() + ": " + status.error().message);
    else
        ++fits_;
}

std::optional<double> ModelGuidedStrategy::predicted(const Config& config) const {
    const auto found = predictions_.find(space_.hash(config));
    if (found == predictions_.end())
        return std::nullopt;
    return found->second;
}

// The model itself is not saved: it is fitted again to the same rows, which gives the same model.
std::string ModelGuidedStrategy::saveState() const {
    nlohmann::json json{{"rng", rng_.state()},
                        {"seen", unseen_.hashes()},
                        {"fitted_rows", fittedRows_},
                        {"plan_stale", planStale_},
                        {"plan_dry", planDry_},
                        {"fits", fits_},
                        {"rows", nlohmann::json::array()},
                        {"chains", nlohmann::json::array()},
                        {"plan", nlohmann::json::array()},
                        {"predictions", nlohmann::json::array()}};
    for (std::size_t i = 0; i < configs_.size(); ++i)
        json["rows"].push_back(
            {configs_[i].text(), costs_[i] ? nlohmann::json(*costs_[i]) : nlohmann::json()});
    for (const Config& config : chains_)
        json["chains"].push_back(config.text());
    for (std::size_t i = planAt_; i < plan_.size(); ++i)
        json["plan"].push_back({plan_[i].config.text(), plan_[i].score});
    std::vector<std::pair<std::uint64_t, float>> predictions(predictions_.begin(), predictions_.end());
    std::ranges::sort(predictions);
    json["predictions"] = predictions;
    return json.dump();
}

Status ModelGuidedStrategy::restoreState(std::string_view state) {
    return readState(name(), state, [&](const nlohmann::json& json) {
        std::vector<Config> configs, chains;
        std::vector<std::optional<double>> costs;
        std::vector<ScoredConfig> plan;
        for (const auto& row : json.at("rows")) {
            configs.push_back(configFromState(row.at(0), space_));
            costs.push_back(row.at(1).is_null() ? std::nullopt : std::optional(row.at(1).get<double>()));
        }
        for (const auto& chain : json.at("chains"))
            chains.push_back(configFromState(chain, space_));
        for (const auto& item : json.at("plan")) {
            Config config = configFromState(item.at(0), space_);
            const std::uint64_t hash = space_.hash(config);
            plan.push_back({std::move(config), hash, item.at(1).get<float>()});
        }
        const auto fittedRows = json.at("fitted_rows").get<std::size_t>();
        const auto seen = json.at("seen").get<std::vector<std::uint64_t>>();
        const auto rng = json.at("rng").get<std::array<std::uint64_t, 4>>();
        const auto fits = json.at("fits").get<std::size_t>();
        const auto predictions = json.at("predictions").get<std::vector<std::pair<std::uint64_t, float>>>();
        const bool stale = json.at("plan_stale").get<bool>(), dry = json.at("plan_dry").get<bool>();
        if (fittedRows > configs.size())
            throw nlohmann::json::other_error::create(501, "it was fitted to more trials than it has", &json);
        // Nothing below throws: a broken state leaves the strategy as it was.
        configs_ = std::move(configs);
        costs_ = std::move(costs);
        features_ = space_.features(configs_);
        if (fits > 0)
            fit(fittedRows);
        fittedRows_ = fittedRows;
        fits_ = fits;
        chains_ = std::move(chains);
        plan_ = std::move(plan);
        planAt_ = 0;
        planStale_ = stale;
        planDry_ = dry;
        unseen_.setHashes(seen);
        rng_.setState(rng);
        predictions_ = {predictions.begin(), predictions.end()};
    });
}

} // namespace tunesmith
