package io.github.reactorratelimit.benchmarks.web;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import java.util.List;

/** Every group of requests over HTTP. */
public final class WebGroups {

    private static final String NOTE =
            "64 connections that are kept alive, each from an address of its own, one request under way on each. The load and the server share the"
                    + " processors: a throughput is that of both together, the server's processor time is its own.";

    private WebGroups() {}

    /** All of them, in the order of the report. */
    public static List<BenchmarkGroup> all() {
        return List.of(local(), redis(), denied());
    }

    private static BenchmarkGroup local() {
        String ours = WebEntrant.LOCAL.contender().name();
        return group(
                "web-local",
                "WebFlux filter over HTTP, limits in the process, allowed",
                List.of(WebEntrant.BARE, WebEntrant.LOCAL, WebEntrant.STARTER),
                List.of(Goal.contender(ours, bare(), 0.95), Goal.bestPeer(ours, 1)));
    }

    private static BenchmarkGroup redis() {
        String ours = WebEntrant.REDIS.contender().name();
        return group(
                "web-redis",
                "WebFlux filter over HTTP, limits in Redis, allowed",
                List.of(WebEntrant.BARE, WebEntrant.SCRIPT, WebEntrant.REDIS, WebEntrant.GATEWAY),
                List.of(
                        Goal.contender(ours, bare(), 0.6),
                        Goal.contender(ours, WebEntrant.SCRIPT.contender().name(), 0.9),
                        Goal.bestPeer(ours, 1)));
    }

    private static BenchmarkGroup denied() {
        String ours = WebEntrant.LOCAL_DENIED.contender().name();
        return group(
                "web-denied",
                "WebFlux filter over HTTP, all denied",
                List.of(
                        WebEntrant.BARE,
                        WebEntrant.DENYING,
                        WebEntrant.LOCAL,
                        WebEntrant.LOCAL_DENIED,
                        WebEntrant.REDIS_DENIED,
                        WebEntrant.STARTER_DENIED,
                        WebEntrant.GATEWAY_DENIED),
                List.of(
                        Goal.contender(ours, bare(), 1.3),
                        Goal.contender(ours, WebEntrant.LOCAL.contender().name(), 1),
                        Goal.bestPeer(ours, 1)));
    }

    private static String bare() {
        return WebEntrant.BARE.contender().name();
    }

    private static BenchmarkGroup group(String id, String title, List<WebEntrant> entrants, List<Goal> goals) {
        return new WebGroup(
                new Group(
                        id,
                        title,
                        "requests/s",
                        Better.MORE,
                        entrants.stream().map(WebEntrant::contender).toList(),
                        goals,
                        NOTE),
                entrants);
    }
}
