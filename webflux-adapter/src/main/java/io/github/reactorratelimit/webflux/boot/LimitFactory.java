package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitRuleBuilder;
import io.github.reactorratelimit.webflux.RequestCost;
import io.github.reactorratelimit.webflux.StatusSet;
import io.github.reactorratelimit.webflux.boot.LimitProperties.MissingKeyAction;
import io.github.reactorratelimit.webflux.boot.LimitProperties.Mode;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.util.ClassUtils;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;
import reactor.util.Logger;
import reactor.util.Loggers;

/** Makes limits of their properties. */
final class LimitFactory {

    /** How long a limiter may keep using an override that was changed. */
    private static final Duration OVERRIDES_KEPT = Duration.ofSeconds(1);

    static final String SECURITY = "org.springframework.security.web.server.SecurityWebFilterChain";

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    private final LimitKey.Maker keys;
    private final LimitStores stores;
    private final LimitRecorders recorders;
    private final Optional<Predicate<ServerWebExchange>> exempt;
    private final int hotKeys;

    /**
     * @param exempt requests that are not limited
     */
    LimitFactory(
            LimitKey.Maker keys,
            LimitStores stores,
            LimitRecorders recorders,
            Optional<Predicate<ServerWebExchange>> exempt,
            int hotKeys) {
        this.keys = keys;
        this.stores = stores;
        this.recorders = recorders;
        this.exempt = exempt;
        this.hotKeys = hotKeys;
    }

    /** What limits share with other instances; null if none made so far does. */
    @Nullable
    SharedStore shared() {
        return stores.shared();
    }

    void reconnect() {
        stores.reconnect();
    }

    LimitSettings settings(LimitProperties limit, String at) {
        return LimitSettings.of(limit, keys, at);
    }

    /**
     * Makes a limit.
     *
     * @param at the name of its properties
     */
    ConfiguredLimit make(String name, LimitProperties limit, String at) {
        RateLimitRuleBuilder rule = PropertyChecks.of(at, () -> RateLimitRule.named(name));
        LimitSettings settings = settings(limit, at);
        List<LimitKey> key = PropertyChecks.orNone(limit.key());
        PropertyChecks.check(!key.isEmpty(), at + ".key", "is needed, such as ip; or all for one limit of all clients");
        PropertyChecks.of(
                at + ".key",
                () -> rule.key(
                        LimitKey.together(key, keys, !settings.overrides().isEmpty())));
        warnIfNobodyIsLoggedIn(name, key);
        requests(limit, rule, at);
        countStatuses(limit, rule, at);
        missingKey(limit, rule, at);
        rule.onFailure(stores.onFailure(limit));
        if (Optional.ofNullable(limit.afterAuthentication())
                .orElseGet(() -> key.stream().anyMatch(LimitKey::needsUser))) {
            rule.afterAuthentication();
        }
        return limited(limit, rule, name, settings, at);
    }

    /** A limiter of the application itself: like those of limits, with what {@code more} adds. */
    ManagedLimiter limiter(String name, RateLimitPolicy policy, UnaryOperator<RateLimiterBuilder> more) {
        LimitStatistics statistics = new LimitStatistics(hotKeys);
        return new ManagedLimiter(
                stores.standardKind(),
                statistics,
                () -> more.apply(builder(name, policy, statistics)
                                .store(stores.standard(policy, "limiter '" + name + "'")))
                        .build());
    }

    private RateLimiterBuilder builder(String name, RateLimitPolicy policy, LimitStatistics statistics) {
        return RateLimiter.builder(policy)
                .name(name)
                .recorder(recorders.of(name))
                .keyRecorder(statistics);
    }

    private static void missingKey(LimitProperties limit, RateLimitRuleBuilder rule, String at) {
        Integer status = limit.missingKeyStatus();
        boolean shared = limit.missingKey() == MissingKeyAction.SHARED;
        PropertyChecks.check(status == null || !shared, at + ".missing-key-status", "is only for missing-key: deny");
        if (shared) {
            rule.sharedMissingKey();
        } else if (status != null) {
            PropertyChecks.of(at + ".missing-key-status", () -> rule.missingKeyStatus(HttpStatusCode.valueOf(status)));
        }
    }

    private void requests(LimitProperties limit, RateLimitRuleBuilder rule, String at) {
        List<String> paths = PropertyChecks.orNone(limit.paths());
        HttpMethod[] methods = PropertyChecks.orNone(limit.methods()).stream()
                .map(RequestMethod::asHttpMethod)
                .toArray(HttpMethod[]::new);
        if (limit.explicitOnly()) {
            PropertyChecks.check(paths.isEmpty(), at + ".paths", "are of no use: the limit is explicit-only");
            PropertyChecks.check(methods.length == 0, at + ".methods", "are of no use: the limit is explicit-only");
            rule.explicitOnly();
            return;
        }
        PropertyChecks.of(at + ".paths", () -> rule.path(paths.toArray(String[]::new)));
        rule.method(methods);
        exempt.ifPresent(rule::unless);
    }

    /** Clients choose whether they send a length. By default a body of unknown length costs the whole limit. */
    private static RequestCost cost(LimitProperties limit, ManagedLimiter limiter, LimitSettings settings, String at) {
        Long given = limit.cost();
        RequestCost fixed = PropertyChecks.of(at + ".cost", () -> RequestCost.fixed(given == null ? 1 : given));
        if (limit.bytesPerPermit() == null) {
            return isOnlyForSome(given, settings) ? exchange -> fixed.permits(exchange) : fixed;
        }
        long bytes = limit.bytesPerPermit().toBytes();
        return PropertyChecks.of(
                at + ".bytes-per-permit",
                () -> given == null
                        ? RequestCost.contentLength(
                                bytes, () -> limiter.current().policy().capacity())
                        : RequestCost.contentLength(bytes, given));
    }

    /** Whether only keys with an override can pay this cost. A rule does not know them and would refuse it. */
    private static boolean isOnlyForSome(@Nullable Long cost, LimitSettings settings) {
        return cost != null && settings.overrides().values().stream().anyMatch(policy -> policy.capacity() >= cost);
    }

    /** Without authentication no request has a principal, so that every key is missing. */
    private static void warnIfNobodyIsLoggedIn(String name, List<LimitKey> key) {
        if (key.stream().anyMatch(LimitKey::isOnlyOfUsers)
                && !ClassUtils.isPresent(SECURITY, LimitFactory.class.getClassLoader())) {
            LOG.warn(
                    "Limit '{}' counts by principal, but Spring Security is not on the class path. Unless another filter authenticates"
                            + " requests, none has a principal, and all are treated as missing-key says. Add"
                            + " spring-boot-starter-security, or use a key such as ip or 'principal or ip'",
                    name);
        }
    }

    private static void countStatuses(LimitProperties limit, RateLimitRuleBuilder rule, String at) {
        List<StatusSet> statuses = PropertyChecks.orNone(limit.countStatuses());
        PropertyChecks.check(
                statuses.isEmpty() || limit.algorithm() != LimitProperties.Algorithm.CONCURRENCY,
                at + ".count-statuses",
                "is not for algorithm concurrency, whose permits come back anyway");
        if (!statuses.isEmpty()) {
            rule.countStatuses(statuses.toArray(StatusSet[]::new));
        }
    }

    private ConfiguredLimit limited(
            LimitProperties limit, RateLimitRuleBuilder rule, String name, LimitSettings settings, String at) {
        LimitStatistics statistics = new LimitStatistics(hotKeys);
        AtomicReference<LimitSettings> configured = new AtomicReference<>(settings);
        RateLimitPolicy shadow = settings.shadow();
        Duration maxWait = maxWait(limit, at);
        ManagedLimiter soft = settings.soft() == null ? null : soft(limit, name, configured, at);
        if (maxWait != null) {
            PropertyChecks.of(
                    at + ".max-wait",
                    () -> soft == null ? rule.delay(maxWait) : rule.delayAbove(soft.stable(), maxWait));
        }
        ManagedLimiter hard = new ManagedLimiter(stores.kind(limit), statistics, () -> {
            RateLimitPolicy policy = Objects.requireNonNull(configured.get()).policy();
            RateLimiterBuilder builder =
                    builder(name, policy, statistics).store(stores.of(limit, limit.prepaid(), policy, at));
            if (!settings.overrides().isEmpty()) {
                builder.policyPerKey(
                        key -> Mono.justOrEmpty(Objects.requireNonNull(configured.get())
                                .overrides()
                                .get(key)),
                        OVERRIDES_KEPT);
            }
            if (shadow != null) {
                builder.shadow(shadow);
            }
            return PropertyChecks.of(at + (shadow == null ? ".limit" : ".shadow"), builder::build);
        });
        rule.cost(cost(limit, hard, settings, at));
        RateLimitRule made =
                PropertyChecks.of(at, () -> rule.limiter(hard::current).build());
        return new ConfiguredLimit(limit, made, hard, soft, configured);
    }

    private ManagedLimiter soft(
            LimitProperties limit, String name, AtomicReference<LimitSettings> configured, String at) {
        String softName = name + ".soft";
        return PropertyChecks.of(
                at + ".soft-limit",
                () -> new ManagedLimiter(stores.kind(limit), new LimitStatistics(0), () -> {
                    RateLimitPolicy policy = Objects.requireNonNull(
                            Objects.requireNonNull(configured.get()).soft());
                    return RateLimiter.builder(policy)
                            .name(softName)
                            .store(stores.of(limit, null, policy, at))
                            .recorder(recorders.of(softName))
                            .build();
                }));
    }

    private static @Nullable Duration maxWait(LimitProperties limit, String at) {
        boolean waits = limit.mode() == Mode.DELAY || limit.softLimit() != null;
        PropertyChecks.check(
                !waits || limit.maxWait() != null,
                at + ".max-wait",
                "is needed, such as 2s: requests wait with mode delay or a soft-limit");
        PropertyChecks.check(
                limit.mode() != Mode.REJECT || limit.maxWait() == null,
                at + ".max-wait",
                "is only for mode delay: with mode reject no request waits");
        PropertyChecks.check(
                limit.mode() != Mode.REJECT || limit.softLimit() == null,
                at + ".soft-limit",
                "is only for mode delay: with mode reject no request waits");
        return limit.maxWait();
    }
}
