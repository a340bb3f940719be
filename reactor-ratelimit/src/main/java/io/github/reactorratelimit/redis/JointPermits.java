package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Acquires permits of several keys, perhaps of several limiters, in one call: all or none. */
final class JointPermits {

    /** What is requested of one key. */
    record Part(RedisPermits permits, String key, @Nullable RateLimitPolicy override, long count) {

        private boolean isPossible() {
            ScriptPolicy policy = permits.commands().versions().script(override);
            return permits.commands().isInEffect(policy, override)
                    && count <= policy.policy().capacity();
        }

        private LimiterCommands.Member member() {
            VersionedCommands commands = permits.commands();
            ScriptPolicy policy = commands.versions().script(override);
            return new LimiterCommands.Member(commands.commands(), key, policy, Command.acquire(count));
        }
    }

    private JointPermits() {}

    /**
     * The decisions up to the first denial, on the connection's thread; empty if they cannot be made in one
     * call.
     */
    static Mono<List<Decision>> acquire(List<Part> parts) {
        return Mono.defer(() -> {
                    if (!parts.stream().allMatch(Part::isPossible)) {
                        return Mono.<List<Decision>>empty();
                    }
                    long[] generations = parts.stream()
                            .mapToLong(part -> part.permits().generation(part.key()))
                            .toArray();
                    long sentNanos = parts.get(0).permits().now();
                    return LimiterCommands.sendTogether(
                                    parts.stream().map(Part::member).toList())
                            .map(replies -> decisions(parts, replies, generations, sentNanos));
                })
                .onErrorResume(RedisUnavailableException.class, unavailable -> degraded(parts))
                .onErrorComplete(NewerVersionException.class);
    }

    /** If one is denied, those before it debited nothing: nothing changed for their keys. */
    private static List<Decision> decisions(
            List<Part> parts, List<CommandReply> replies, long[] generations, long sentNanos) {
        int last = replies.size() - 1;
        boolean isDenied = !replies.get(last).allowed();
        List<Decision> decisions = new ArrayList<>();
        for (int i = 0; i <= last; i++) {
            Part part = parts.get(i);
            if (!isDenied || i == last) {
                part.permits().learn(part.key(), replies.get(i), generations[i], sentNanos);
            }
            decisions.add(replies.get(i).toDecision(part.permits().owner(), part.key()));
        }
        if (isDenied) {
            decisions.forEach(decision -> decision.debit().ifPresent(Debit::claim));
        }
        return List.copyOf(decisions);
    }

    /** The call may have run, so nothing is sent again. */
    private static Mono<List<Decision>> degraded(List<Part> parts) {
        return Flux.fromIterable(parts)
                .concatMap(part -> part.permits().degraded(part.key(), part.override(), part.count()))
                .takeUntil(decision -> !decision.allowed())
                .collectList();
    }

    /** Refunds decisions that were not delivered. */
    static void refundUnused(List<Part> parts, List<Decision> unused) {
        for (int i = 0; i < unused.size(); i++) {
            parts.get(i).permits().refundUnused(unused.get(i));
        }
    }
}
