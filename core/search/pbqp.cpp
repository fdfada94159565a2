// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/pbqp.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace tunesmith {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

using Costs = std::vector<double>;

double least(const Costs& costs) { return *std::ranges::min_element(costs); }

Costs transposed(const Costs& costs, std::size_t rows, std::size_t columns) {
    Costs turned(costs.size());
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j)
            turned[j * rows + i] = costs[i * columns + j];
    return turned;
}

// A problem while it is made smaller. What leaves it remembers how to choose once its neighbours have chosen.
class Reduction {
public:
    explicit Reduction(PbqpProblem problem) : nodes_(std::move(problem.nodes)), links_(nodes_.size()), gone_(nodes_.size(), false) {
        for (PbqpEdge& edge : problem.edges)
            connect(edge.a, edge.b, std::move(edge.costs));
        for (std::size_t n = 0; n < nodes_.size(); ++n)
            waiting_.push_back(n);
    }

    // Eliminates all nodes of up to two neighbours.
    void run() {
        while (!waiting_.empty()) {
            const std::size_t node = waiting_.back();
            waiting_.pop_back();
            if (!gone_[node] && links_[node].size() <= 2)
                eliminate(node);
        }
    }

    double settled() const { return settled_; } // what the eliminated nodes without neighbours cost

    // The connected parts of what is left, as lists of nodes.
    std::vector<std::vector<std::size_t>> parts() const {
        std::vector<std::vector<std::size_t>> found;
        std::vector<bool> seen = gone_;
        for (std::size_t first = 0; first < nodes_.size(); ++first) {
            if (seen[first])
                continue;
            std::vector<std::size_t> part{first};
            seen[first] = true;
            for (std::size_t i = 0; i < part.size(); ++i)
                for (const auto& [next, edge] : links_[part[i]])
                    if (!seen[next]) {
                        seen[next] = true;
                        part.push_back(next);
                    }
            std::ranges::sort(part);
            found.push_back(std::move(part));
        }
        return found;
    }

    PbqpProblem problemOf(const std::vector<std::size_t>& part) const {
        PbqpProblem problem;
        std::map<std::size_t, std::size_t> place;
        for (const std::size_t node : part) {
            place[node] = problem.nodes.size();
            problem.nodes.push_back(nodes_[node]);
        }
        for (const std::size_t node : part)
            for (const auto& [next, edge] : links_[node])
                if (node < next)
                    problem.edges.push_back({place[node], place[next], oriented(edges_[edge], node)});
        return problem;
    }

    void forgetEdges() { edges_.clear(); }

    // Chooses for the eliminated nodes, the last one first.
    void complete(std::vector<std::size_t>& choice) const {
        for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
            Costs costs = step->own;
            for (const Link& link : step->links)
                for (std::size_t i = 0; i < costs.size(); ++i)
                    costs[i] += link.costs[i * nodes_[link.node].size() + choice[link.node]];
            choice[step->node] = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
        }
    }

private:
    struct Link { // costs: row after row, of the one that is eliminated
        std::size_t node;
        Costs costs;
    };
    struct Step {
        std::size_t node;
        Costs own;
        std::vector<Link> links;
    };

    Costs oriented(const PbqpEdge& edge, std::size_t from) const {
        return edge.a == from ? edge.costs : transposed(edge.costs, nodes_[edge.a].size(), nodes_[edge.b].size());
    }

    void connect(std::size_t a, std::size_t b, Costs costs) {
        if (const auto found = links_[a].find(b); found != links_[a].end()) {
            PbqpEdge& edge = edges_[found->second];
            const Costs more = edge.a == a ? std::move(costs) : transposed(costs, nodes_[a].size(), nodes_[b].size());
            for (std::size_t i = 0; i < more.size(); ++i)
                edge.costs[i] += more[i];
        } else {
            links_[a][b] = links_[b][a] = edges_.size();
            edges_.push_back({a, b, std::move(costs)});
        }
        normalize(links_[a][b]);
    }

    void disconnect(std::size_t edge) {
        const auto [a, b] = std::pair(edges_[edge].a, edges_[edge].b);
        links_[a].erase(b);
        links_[b].erase(a);
        edges_[edge].costs.clear();
        waiting_.push_back(b);
        waiting_.push_back(a);
    }

    // What an edge costs whatever the other end takes is moved into the nodes; an edge of which nothing is left goes.
    void normalize(std::size_t index) {
        PbqpEdge& edge = edges_[index];
        Costs &a = nodes_[edge.a], &b = nodes_[edge.b];
        const std::size_t rows = a.size(), columns = b.size();
        for (std::size_t i = 0; i < rows; ++i)
            shift(edge.costs, a[i], b, i * columns, 1);
        for (std::size_t j = 0; j < columns; ++j)
            shift(edge.costs, b[j], a, j, columns);
        if (std::ranges::all_of(edge.costs, [](double cost) { return cost == 0; }))
            disconnect(index);
    }

    // Moves the least of a row or column into the alternative that it belongs to; `other`: the costs of its other end.
    static void shift(Costs& costs, double& own, const Costs& other, std::size_t begin, std::size_t step) {
        double low = kForbidden;
        for (std::size_t k = 0; k < other.size(); ++k)
            if (other[k] < kForbidden)
                low = std::min(low, costs[begin + k * step]);
        own += low;
        for (std::size_t k = 0; k < other.size(); ++k) {
            double& cost = costs[begin + k * step];
            cost = own < kForbidden && other[k] < kForbidden ? cost - low : 0; // nobody takes what is forbidden anyway
        }
    }

    void eliminate(std::size_t node) {
        Step step{node, nodes_[node], {}};
        std::vector<std::size_t> edges;
        for (const auto& [next, edge] : links_[node]) {
            step.links.push_back({next, oriented(edges_[edge], node)});
            edges.push_back(edge);
        }
        gone_[node] = true;
        for (const std::size_t edge : edges)
            disconnect(edge);
        if (step.links.empty())
            settled_ += least(step.own);
        else if (step.links.size() == 1)
            foldIntoNode(step);
        else
            foldIntoEdge(step);
        steps_.push_back(std::move(step));
    }

    void foldIntoNode(const Step& step) {
        const Link& link = step.links[0];
        Costs& costs = nodes_[link.node];
        for (std::size_t j = 0; j < costs.size(); ++j) {
            double low = kForbidden;
            for (std::size_t i = 0; i < step.own.size(); ++i)
                low = std::min(low, step.own[i] + link.costs[i * costs.size() + j]);
            costs[j] += low;
        }
    }

    void foldIntoEdge(const Step& step) {
        const Link &first = step.links[0], &second = step.links[1];
        const std::size_t rows = nodes_[first.node].size(), columns = nodes_[second.node].size();
        Costs costs(rows * columns, kForbidden);
        for (std::size_t j = 0; j < rows; ++j)
            for (std::size_t k = 0; k < columns; ++k)
                for (std::size_t i = 0; i < step.own.size(); ++i)
                    costs[j * columns + k] =
                        std::min(costs[j * columns + k], step.own[i] + first.costs[i * rows + j] + second.costs[i * columns + k]);
        connect(first.node, second.node, std::move(costs));
    }

    std::vector<Costs> nodes_;
    std::vector<PbqpEdge> edges_;
    std::vector<std::map<std::size_t, std::size_t>> links_; // of each node: neighbour and edge
    std::vector<bool> gone_;
    std::vector<std::size_t> waiting_; // may have few neighbours now
    std::vector<Step> steps_;
    double settled_ = 0;
};

class Solver {
public:
    explicit Solver(std::size_t branches) : left_(branches) {}

    struct Found {
        std::vector<std::size_t> choice;
        double cost = 0;
    };

    bool proven() const { return proven_; }

    // A solution below `limit`; none where there is none or the branches are used up.
    std::optional<Found> solve(PbqpProblem problem, double limit) {
        std::vector<std::size_t> choice(problem.nodes.size(), 0);
        Reduction reduction(std::move(problem));
        reduction.run();
        const auto parts = reduction.parts();
        std::vector<PbqpProblem> problems;
        double bound = reduction.settled();
        for (const auto& part : parts) {
            problems.push_back(reduction.problemOf(part));
            bound += boundOf(problems.back());
        }
        reduction.forgetEdges(); // the descent below holds many of these at a time
        for (std::size_t p = 0; p < parts.size() && bound < limit; ++p) {
            const double others = bound - boundOf(problems[p]);
            const auto found = branch(std::move(problems[p]), limit - others);
            if (!found)
                return std::nullopt;
            for (std::size_t i = 0; i < found->choice.size(); ++i)
                choice[parts[p][i]] = found->choice[i];
            bound = others + found->cost;
        }
        if (bound >= limit)
            return std::nullopt;
        reduction.complete(choice);
        return Found{std::move(choice), bound};
    }

private:
    // Edges are normalized: none of them costs less than nothing.
    static double boundOf(const PbqpProblem& problem) {
        return std::transform_reduce(problem.nodes.begin(), problem.nodes.end(), 0.0, std::plus(), least);
    }

    static std::size_t busiest(const PbqpProblem& problem) {
        std::vector<std::size_t> degree(problem.nodes.size(), 0);
        for (const PbqpEdge& edge : problem.edges)
            ++degree[edge.a], ++degree[edge.b];
        return static_cast<std::size_t>(std::ranges::max_element(degree) - degree.begin());
    }

    // The alternatives of a node, those first that are cheap where each neighbour takes what suits it.
    static std::vector<std::size_t> guesses(const PbqpProblem& problem, std::size_t node) {
        Costs score = problem.nodes[node];
        for (const PbqpEdge& edge : problem.edges) {
            if (edge.a != node && edge.b != node)
                continue;
            const Costs& other = problem.nodes[edge.a == node ? edge.b : edge.a];
            const Costs costs = edge.a == node ? edge.costs : transposed(edge.costs, other.size(), score.size());
            for (std::size_t i = 0; i < score.size(); ++i) {
                double low = kForbidden;
                for (std::size_t j = 0; j < other.size(); ++j)
                    low = std::min(low, costs[i * other.size() + j] + other[j]);
                score[i] += low;
            }
        }
        std::vector<std::size_t> order(score.size());
        std::iota(order.begin(), order.end(), std::size_t(0));
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return score[i]; });
        std::erase_if(order, [&](std::size_t i) { return score[i] == kForbidden; });
        return order;
    }

    // Takes the best guess alone, and copies nothing, where the branches or the memory for copies are used up.
    std::optional<Found> branch(PbqpProblem problem, double limit) {
        const std::size_t node = busiest(problem), bytes = bytesOf(problem);
        const std::vector<std::size_t> order = guesses(problem, node);
        if (left_ == 0 || held_ + bytes > kMostHeld || copied_ + bytes > kMostCopied) {
            proven_ = proven_ && order.size() < 2;
            return order.empty() ? std::nullopt : solve(fixedAt(std::move(problem), node, order[0]), limit);
        }
        std::optional<Found> best;
        held_ += bytes;
        for (const std::size_t guess : order) {
            if (left_ == 0 && guess != order[0]) {
                proven_ = false;
                break;
            }
            left_ -= left_ > 0 ? 1 : 0;
            copied_ += bytes;
            if (auto found = solve(fixedAt(problem, node, guess), limit)) {
                limit = problem.cost(found->choice);
                best = Found{std::move(found->choice), limit};
            }
        }
        held_ -= bytes;
        return best;
    }

    static PbqpProblem fixedAt(PbqpProblem problem, std::size_t node, std::size_t guess) {
        for (std::size_t i = 0; i < problem.nodes[node].size(); ++i)
            problem.nodes[node][i] = i == guess ? problem.nodes[node][i] : kForbidden;
        return problem;
    }

    static std::size_t bytesOf(const PbqpProblem& problem) {
        std::size_t bytes = 0;
        for (const PbqpEdge& edge : problem.edges)
            bytes += edge.costs.size() * sizeof(double);
        return bytes;
    }

    static constexpr std::size_t kMostHeld = std::size_t{256} << 20, kMostCopied = std::size_t{32} << 30; // bytes, at a time and in all

    std::size_t left_, held_ = 0, copied_ = 0;
    bool proven_ = true;
};

[[maybe_unused]] bool isSound(const PbqpProblem& problem) {
    const auto sound = [](const Costs& costs) { return std::ranges::all_of(costs, [](double cost) { return cost > -kForbidden; }); };
    return std::ranges::all_of(problem.nodes, [&](const Costs& costs) { return !costs.empty() && sound(costs); }) &&
           std::ranges::all_of(problem.edges, [&](const PbqpEdge& edge) {
               return edge.a != edge.b && edge.a < problem.nodes.size() && edge.b < problem.nodes.size() &&
                      edge.costs.size() == problem.nodes[edge.a].size() * problem.nodes[edge.b].size() && sound(edge.costs);
           });
}

} // namespace

double PbqpProblem::cost(const std::vector<std::size_t>& choice) const {
    double sum = 0;
    for (std::size_t n = 0; n < nodes.size(); ++n)
        sum += nodes[n][choice[n]];
    for (const PbqpEdge& edge : edges)
        sum += edge.costs[choice[edge.a] * nodes[edge.b].size() + choice[edge.b]];
    return sum;
}

PbqpSolution solvePbqp(const PbqpProblem& problem, std::size_t branches) {
    assert(isSound(problem) && "costs are no NaN, edges have as many as their nodes have alternatives");
    Solver solver(branches);
    PbqpSolution solution;
    auto found = solver.solve(problem, kForbidden);
    solution.proven = solver.proven();
    if (!found)
        return solution;
    solution.feasible = true;
    solution.cost = problem.cost(found->choice);
    solution.choice = std::move(found->choice);
    return solution;
}

} // namespace tunesmith
