package io.github.reactorratelimit.benchmarks.web;

import io.github.reactorratelimit.benchmarks.report.Contender;

/**
 * One that takes part.
 *
 * @param contender as the report names it
 * @param server what it runs
 */
record WebEntrant(Contender contender, ServerKind server) {

    static final WebEntrant BARE = new WebEntrant(Contender.floor("bare endpoint"), ServerKind.BARE);

    static final WebEntrant SCRIPT =
            new WebEntrant(Contender.floor("bare endpoint behind a call of the smallest script"), ServerKind.SCRIPT);

    static final WebEntrant DENYING =
            new WebEntrant(Contender.floor("429 and nothing else, all denied"), ServerKind.DENYING);

    static final WebEntrant LOCAL = new WebEntrant(Contender.ours("ours, in process"), ServerKind.OURS);

    static final WebEntrant REDIS = new WebEntrant(Contender.ours("ours, Redis"), ServerKind.OURS_REDIS);

    static final WebEntrant LOCAL_DENIED =
            new WebEntrant(Contender.ours("ours, in process, all denied"), ServerKind.OURS_DENIED);

    static final WebEntrant REDIS_DENIED =
            new WebEntrant(Contender.ours("ours, Redis, all denied"), ServerKind.OURS_REDIS_DENIED);

    static final WebEntrant STARTER = new WebEntrant(
            Contender.peer("Bucket4j starter's WebFlux filter, buckets in a map"), ServerKind.BUCKET4J_STARTER);

    static final WebEntrant STARTER_DENIED = new WebEntrant(
            Contender.peer("Bucket4j starter's WebFlux filter, all denied"), ServerKind.BUCKET4J_STARTER_DENIED);

    static final WebEntrant GATEWAY = new WebEntrant(
            Contender.peer("Spring Cloud Gateway's RequestRateLimiter, no proxying"), ServerKind.GATEWAY);

    static final WebEntrant GATEWAY_DENIED = new WebEntrant(
            Contender.peer("Spring Cloud Gateway's RequestRateLimiter, all denied"), ServerKind.GATEWAY_DENIED);
}
