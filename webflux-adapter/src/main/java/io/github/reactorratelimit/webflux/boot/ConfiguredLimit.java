package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A limit that was made of properties.
 *
 * @param properties as they were when the application started
 * @param rule what the engine applies
 * @param hard decides
 * @param soft decides which requests wait; null if there is no soft limit
 * @param configured the settings that were last read from the configuration; others may be in effect after a change
 */
record ConfiguredLimit(
        LimitProperties properties,
        RateLimitRule rule,
        ManagedLimiter hard,
        @Nullable ManagedLimiter soft,
        AtomicReference<LimitSettings> configured) {

    /** No client has this key. A limiter knows its policy in effect after a request for any key. */
    private static final String ANY_KEY = "-";

    String name() {
        return rule.name();
    }

    RateLimiter limiter() {
        return hard.current();
    }

    StoreKind store() {
        return hard.store();
    }

    /** Its limiters. */
    Stream<ManagedLimiter> limiters() {
        return Stream.of(hard, soft).filter(Objects::nonNull);
    }

    /** Whether the limiter looks up policies of keys: it had overrides when it was made. */
    private boolean hasOverrides() {
        return !PropertyChecks.orNone(properties.overrides()).isEmpty();
    }

    /**
     * Whether none of these settings can take effect: permits in flight cannot be carried over to a limit by time, or back.
     */
    boolean isOfAnotherKind(LimitSettings settings) {
        return limiter().policy().needsRelease() != settings.policy().needsRelease();
    }

    /**
     * Why no request could ever pass with these settings; null if some can. The cost of a request stays as it was at the start.
     */
    @Nullable
    String obstacleToRequests(LimitSettings settings) {
        return settings.obstacleTo(properties.costOfEach(), hasOverrides());
    }

    /** Which of these settings need a restart, and why; empty if all can take effect. */
    List<String> obstacles(LimitSettings settings) {
        List<String> obstacles = new ArrayList<>();
        if ((settings.soft() == null) != (soft == null)) {
            obstacles.add("soft-limit was added or removed");
        }
        if (!hasOverrides() && !settings.overrides().isEmpty()) {
            obstacles.add("overrides were added where there were none");
        }
        return obstacles;
    }

    /**
     * Applies those of these settings that differ from the ones configured before; true if something changed. Usage so far is
     * kept. So is a change made at runtime, unless its setting was changed in the configuration too.
     */
    Mono<Boolean> change(LimitSettings settings) {
        return Mono.defer(() -> {
            LimitSettings before = lastConfigured();
            Mono<Boolean> harder = changed(limiter(), before.policy(), settings.policy());
            Mono<Boolean> softer = soft == null || settings.soft() == null
                    ? Mono.just(false)
                    : changed(soft.current(), before.soft(), settings.soft());
            return harder.zipWith(softer, (one, other) -> {
                configured.set(settings);
                return one || other || (hasOverrides() && !settings.overrides().equals(before.overrides()));
            });
        });
    }

    private static Mono<Boolean> changed(
            RateLimiter limiter, @Nullable RateLimitPolicy before, RateLimitPolicy policy) {
        return policy.equals(before)
                ? Mono.just(false)
                : limiter.changePolicy(policy).thenReturn(true);
    }

    LimitSettings lastConfigured() {
        return Objects.requireNonNull(configured.get());
    }

    /** Whether another instance may have changed the policy in effect. */
    boolean followsOthers() {
        return store() == StoreKind.REDIS && !limiter().policy().needsRelease();
    }

    /** The policy in effect as soon as it is known, if it is not the configured one; empty otherwise. */
    Mono<RateLimitPolicy> overridingPolicy() {
        return Mono.defer(() -> limiter().peek(ANY_KEY))
                .onErrorComplete()
                .then(Mono.fromSupplier(limiter()::policy))
                .filter(inEffect -> !inEffect.equals(lastConfigured().policy()));
    }
}
