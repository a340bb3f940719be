package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.context.SmartLifecycle;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The limits of the configuration, as they are in effect now.
 *
 * <pre>{@code
 * limits.refresh()                      // reads the configuration again; usage so far is kept
 * limits.limiter("per-client")          // to reset or pause a key
 * }</pre>
 *
 * <p>When the application stops, limits in Redis and their connections are closed; they are opened when it starts again,
 * for example after a checkpoint. They stop after the server, which lets its last requests finish, and before the
 * application's connections to Redis. Limits in this process keep their state until the application ends.
 */
public final class RateLimits implements SmartLifecycle {

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    private static final int ASKED_AGAIN = 5;
    private static final Duration ASKED_AGAIN_AFTER = Duration.ofSeconds(1);

    /** Lower than that of Boot's servers, higher than that of Spring Data's connection factories, which is 0. */
    static final int PHASE = 1_000;

    private final RateLimitProperties properties;
    private final Supplier<RateLimitProperties> changed;
    private final LimitFactory factory;
    private final Map<String, ConfiguredLimit> limits = new LinkedHashMap<>();

    /** Those of routes, which are not in the configuration. */
    private final Set<ConfiguredLimit> routes = ConcurrentHashMap.newKeySet();

    /** Those of the application's rules, by name. */
    private final Map<String, ManagedLimiter> own = new ConcurrentHashMap<>();

    private volatile Disposable logging = Disposables.disposed();
    private volatile boolean running;
    private volatile boolean suspended;

    /** @param changed reads the properties again */
    RateLimits(RateLimitProperties properties, Supplier<RateLimitProperties> changed, LimitFactory factory) {
        this.properties = properties;
        this.changed = changed;
        this.factory = factory;
        try {
            properties
                    .limits()
                    .forEach((name, limit) -> limits.put(name, factory.make(name, limit, PropertyChecks.limit(name))));
        } catch (RuntimeException refused) {
            close().subscribe();
            throw refused;
        }
    }

    /** The limits of the configuration as rules, in their order. */
    public List<RateLimitRule> rules() {
        return limits.values().stream().map(ConfiguredLimit::rule).toList();
    }

    /** The limiter of this name; empty if the configuration has none. */
    public Optional<RateLimiter> limiter(String limitName) {
        return Optional.ofNullable(limits.get(limitName)).map(ConfiguredLimit::limiter);
    }

    /**
     * A limiter for a {@link RateLimitRule} bean: in the configured store, with the meters of limits and statistics in the
     * Actuator. It is closed with the others.
     *
     * @param name a name that no other limit has, such as that of the rule
     * @throws IllegalArgumentException if a limit or another such limiter has this name
     */
    public RateLimiter limiter(String name, RateLimitPolicy policy) {
        return limiter(name, policy, builder -> builder);
    }

    /**
     * As {@link #limiter(String, RateLimitPolicy)}, with more options of a limiter.
     *
     * <pre>{@code
     * @Bean
     * RateLimitRule perPlan(RateLimits limits, Plans plans) {
     *     return RateLimitRule.named("per-plan")
     *             .key(WebKeys.principal())
     *             .limiter(limits.limiter(
     *                     "per-plan",
     *                     TokenBucket.perMinute(60),
     *                     builder -> builder.policyPerKey(plans::policyOf, Duration.ofMinutes(1))))
     *             .build();
     * }
     * }</pre>
     *
     * @param more adds options; a recorder or a store that it sets replaces the configured one
     * @throws IllegalArgumentException if a limit or another such limiter has this name
     */
    public RateLimiter limiter(String name, RateLimitPolicy policy, UnaryOperator<RateLimiterBuilder> more) {
        if (limits.containsKey(name)) {
            throw new IllegalArgumentException("there is a limit '" + name + "' in reactor-ratelimit.limits");
        }
        ManagedLimiter made = factory.limiter(name, policy, more);
        if (own.putIfAbsent(name, made) != null) {
            made.close().subscribe();
            throw new IllegalArgumentException("there is another limiter '" + name + "'");
        }
        return made.stable();
    }

    /** Logs how the limiter of a rule bean can have meters and live in the configured store, if it was made elsewhere. */
    void logIfMadeElsewhere(RateLimitRule rule) {
        if (own(rule) == null) {
            LOG.info(
                    "Rule '{}' has a limiter that was not made by RateLimits.limiter(name, policy): it has only the meters and the store that it was built"
                            + " with, and the Actuator shows no figures of it",
                    rule.name());
        }
    }

    /** The limiter of a rule bean; null if it was made elsewhere. */
    @Nullable
    ManagedLimiter own(RateLimitRule rule) {
        return own.values().stream()
                .filter(made -> made.stable() == rule.limiter())
                .findFirst()
                .orElse(null);
    }

    /** The names of the limits that live there. */
    List<String> namesIn(StoreKind store) {
        return limits.values().stream()
                .filter(limit -> limit.store() == store)
                .map(ConfiguredLimit::name)
                .toList();
    }

    /** What limits share with other instances; null if none does. */
    @Nullable
    SharedStore shared() {
        return factory.shared();
    }

    LimitFactory factory() {
        return factory;
    }

    /** Makes a limit that is not in the configuration; it is closed with the others. */
    ConfiguredLimit make(String name, LimitProperties limit, String at) {
        ConfiguredLimit made = factory.make(name, limit, at);
        routes.add(made);
        return made;
    }

    /** Closes a limit that is not in the list. */
    void discard(ConfiguredLimit limit) {
        routes.remove(limit);
        limit.limiters().forEach(limiter -> limiter.close().onErrorComplete().subscribe());
    }

    @Nullable
    ConfiguredLimit find(String limitName) {
        return limits.get(limitName);
    }

    /**
     * What a refresh did.
     *
     * @param changed names of the limits that changed
     * @param needRestart what else differs, and takes effect when the application restarts
     */
    public record Refreshed(List<String> changed, List<String> needRestart) {

        public Refreshed {
            changed = List.copyOf(changed);
            needRestart = List.copyOf(needRestart);
        }
    }

    /**
     * Reads the properties again and applies limit, algorithm, burst, queue, soft-limit and overrides to limits of the same
     * names, if they differ from those configured before. Usage so far is kept and waiters are rescheduled. Everything else
     * needs a restart and is reported. A limit whose algorithm changes to or from concurrency does not change at all. With
     * Spring Cloud, its refresh does so too.
     *
     * <p>If a property cannot be used, nothing changes, and a {@link RateLimitConfigurationException} or a
     * {@link BindException} is signalled. Limits change one after the other. If Redis fails, the error is signalled, limits
     * before it have changed, and the next refresh changes the others.
     */
    public Mono<Refreshed> refresh() {
        return Mono.fromSupplier(changed).flatMap(this::refresh).doOnNext(refreshed -> {
            LOG.info("Rate limits changed: {}", refreshed.changed());
            refreshed
                    .needRestart()
                    .forEach(what -> LOG.warn("Takes effect when the application starts again: {}", what));
        });
    }

    /** Refreshes and logs the outcome. */
    void refreshAndLog() {
        refresh().subscribe(done -> {}, error -> {
            boolean refused = error instanceof RateLimitConfigurationException || error instanceof BindException;
            String outcome = refused ? "Rate limits stay as they are" : "Not all rate limits were changed";
            LOG.error("{}: {}", outcome, error.getMessage(), error);
        });
    }

    Mono<Refreshed> refresh(RateLimitProperties changed) {
        return Mono.defer(() -> {
            List<String> needRestart = new ArrayList<>();
            Map<ConfiguredLimit, LimitSettings> settings = compare(changed, needRestart);
            return Flux.fromIterable(settings.entrySet())
                    .concatMap(entry -> entry.getKey()
                            .change(entry.getValue())
                            .filter(different -> different)
                            .map(different -> entry.getKey().name()))
                    .collectList()
                    .map(names -> new Refreshed(names, needRestart));
        });
    }

    /**
     * Replaces a configured limit from now on. Its algorithm stays the one last configured, and usage so far is kept. In
     * Redis the change is in effect in all instances, also in later ones, until it is changed again or an instance has a
     * higher {@code reactor-ratelimit.redis.policy-epoch}. A change of a local limit lasts until the application ends.
     *
     * @param burst permits that may be taken at once; as many as the limit if null
     * @throws IllegalArgumentException signalled, if the configuration has no such limit, or it cannot have this one
     */
    public Mono<Void> change(String limitName, Rate limit, @Nullable Long burst) {
        return Mono.defer(() -> {
            ConfiguredLimit known = limits.get(limitName);
            if (known == null) {
                throw new IllegalArgumentException("the configuration has no limit '" + limitName + "'");
            }
            LimitSettings wanted = known.lastConfigured().withLimit(limit, burst, "limit '" + limitName + "'");
            String obstacle = known.obstacleToRequests(wanted);
            if (obstacle != null) {
                throw new IllegalArgumentException("limit '" + limitName + "' cannot be changed: " + obstacle);
            }
            return known.limiter().changePolicy(wanted.policy());
        });
    }

    private Map<ConfiguredLimit, LimitSettings> compare(RateLimitProperties changed, List<String> needRestart) {
        Map<ConfiguredLimit, LimitSettings> settings = new LinkedHashMap<>();
        List<String> missing = new ArrayList<>(limits.keySet());
        changed.limits().forEach((name, limit) -> {
            String at = PropertyChecks.limit(name);
            LimitSettings wanted = factory.settings(limit, at);
            ConfiguredLimit known = limits.get(name);
            if (known == null) {
                needRestart.add(at + ": there was no limit of this name");
                return;
            }
            missing.remove(name);
            if (!known.properties().fixed().equals(limit.fixed())) {
                needRestart.add(at + ": other properties than its numbers differ");
            }
            if (known.isOfAnotherKind(wanted)) {
                needRestart.add(
                        at + ": algorithm was changed to or from concurrency, none of its numbers takes effect");
                return;
            }
            String none = known.obstacleToRequests(wanted);
            if (none != null) {
                needRestart.add(at + ": none of its numbers takes effect: " + none);
                return;
            }
            known.obstacles(wanted).forEach(obstacle -> needRestart.add(at + ": " + obstacle));
            settings.put(known, wanted);
        });
        missing.forEach(name -> needRestart.add("limit '" + name + "' is not there any more"));
        if (!others(changed).equals(others(properties))) {
            needRestart.add("reactor-ratelimit: properties beside the limits differ");
        }
        return settings;
    }

    private static List<Object> others(RateLimitProperties of) {
        return List.of(
                of.enabled(),
                Optional.ofNullable(of.store()),
                of.maxKeys(),
                of.keyTimeout(),
                of.clientAddress(),
                of.allowList(),
                of.headers(),
                of.redis(),
                of.gateway(),
                of.actuator());
    }

    /**
     * Logs, in the background, which limits have another policy in effect than the configured one: a change in Redis
     * outlives the application. Repeats a few times, because the connection may not be there yet.
     */
    private Disposable logOverriddenPolicies() {
        return Flux.fromIterable(limits.values())
                .filter(ConfiguredLimit::followsOthers)
                .flatMap(limit -> limit.overridingPolicy()
                        .repeatWhenEmpty(asked -> asked.take(ASKED_AGAIN)
                                .concatMap(
                                        times -> Mono.delay(ASKED_AGAIN_AFTER.multipliedBy((times + 1) * (times + 1)))))
                        .doOnNext(inEffect -> LOG.warn(
                                "The policy in effect of limit '{}' is {}, not {} as configured here: it was changed while an application ran, or an"
                                        + " instance has a higher reactor-ratelimit.redis.policy-epoch. Change it again, or set a higher one",
                                limit.name(),
                                inEffect,
                                limit.lastConfigured().policy())))
                .subscribe();
    }

    /** Ends every wait, and completes when all permits are settled and the connections are closed. */
    Mono<Void> close() {
        return closed(StoreKind.LOCAL, StoreKind.REDIS);
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public void start() {
        if (suspended && shared() != null) {
            factory.reconnect();
            limiters(StoreKind.REDIS).forEach(ManagedLimiter::reopen);
        }
        suspended = false;
        running = true;
        logging.dispose();
        logging = logOverriddenPolicies();
    }

    @Override
    public void stop() {
        stop(() -> {});
    }

    @Override
    public void stop(Runnable callback) {
        running = false;
        suspended = true;
        logging.dispose();
        closed(StoreKind.REDIS).doFinally(end -> callback.run()).subscribe();
    }

    private Stream<ManagedLimiter> limiters(StoreKind... stores) {
        Stream<ManagedLimiter> made =
                Stream.concat(limits.values().stream(), routes.stream()).flatMap(ConfiguredLimit::limiters);
        return Stream.concat(made, own.values().stream())
                .filter(limiter -> List.of(stores).contains(limiter.store()));
    }

    private Mono<Void> closed(StoreKind... stores) {
        return Mono.defer(() -> Mono.whenDelayError(
                        limiters(stores).map(ManagedLimiter::close).toList()))
                .onErrorResume(RateLimits::logged)
                .then(Mono.defer(() -> {
                    SharedStore shared = shared();
                    return shared == null ? Mono.<Void>empty() : shared.close();
                }))
                .onErrorResume(RateLimits::logged);
    }

    private static Mono<Void> logged(Throwable error) {
        LOG.warn("Not everything could be closed when the application stopped", error);
        return Mono.empty();
    }
}
