package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;

/** What a limiter consists of, for tests that need less than the whole. */
final class LimiterParts {

    private LimiterParts() {}

    /** Commands under the policy in effect; its registry is being read. */
    static VersionedCommands commands(RedisConnections connections, LimiterSettings settings, StoreOptions options) {
        LimiterCommands commands = new LimiterCommands(
                connections.queues(),
                new RedisKeys("ratelimit", settings.name()),
                settings,
                options,
                new FailureLog(settings, options, connections.isCluster()));
        PolicyVersions versions = new PolicyVersions(settings, commands, options.policyEpoch(), false);
        versions.open(policy -> {});
        return new VersionedCommands(commands, versions, settings.scheduler(), options.deadline());
    }
}
