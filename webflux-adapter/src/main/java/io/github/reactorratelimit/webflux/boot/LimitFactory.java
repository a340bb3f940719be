package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.webflux.RateLimitMode;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitRuleBuilder;
import io.github.reactorratelimit.webflux.RequestCost;
import io.github.reactorratelimit.webflux.StatusSet;
import io.github.reactorratelimit.webflux.boot.LimitProperties.Mode;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.util.ClassUtils;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.server.ServerWebExchange;
import reactor.util.Logger;
import reactor.util.Loggers;

/** Makes limits of their properties. */
final class LimitFactory {

    /** How long a limiter may answer by an override that was changed meanwhile. */
    private static final Duration OVERRIDES_KEPT = Duration.ofSeconds(1);

    private static final String SECURITY = "org.springframework.security.web.server.SecurityWebFilterChain";

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    private final LimitKeys keys;
    private final LimitStores stores;
    private final LimitRecorders recorders;
    private final Optional<Predicate<ServerWebExchange>> exempt;
    private final int hotKeys;

    /**
     * @param exempt callers that are not limited
     */
    LimitFactory(
            LimitKeys keys,
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

    LimitNumbers numbers(LimitProperties limit, String at) {
        return LimitNumbers.of(limit, keys, at);
    }

    /**
     * Makes a limit.
     *
     * @param at the name of its properties
     */
    ConfiguredLimit make(LimitProperties limit, String at) {
        String name = Properties.required(limit.name(), at + ".name", "is needed: each limit has its own");
        RateLimitRuleBuilder rule = Properties.of(at + ".name", () -> RateLimitRule.named(name));
        LimitNumbers numbers = numbers(limit, at);
        List<LimitKey> key = Properties.orNone(limit.key());
        Properties.check(!key.isEmpty(), at + ".key", "is needed, such as ip; or all for one limit of all clients");
        Properties.of(
                at + ".key", () -> rule.key(keys.key(key, !numbers.overrides().isEmpty())));
        warnIfNobodyIsLoggedIn(name, key);
        requests(limit, rule, at);
        countOnly(limit, rule, at);
        rule.missingKey(limit.missingKey()).onFailure(stores.onFailure(limit));
        if (Optional.ofNullable(limit.afterAuthentication())
                .orElseGet(() -> key.stream().anyMatch(LimitKey::needsUser))) {
            rule.afterAuthentication();
        }
        return limited(limit, rule, name, numbers, at);
    }

    /** A limiter of the application itself: like those of limits, with what {@code more} adds. */
    OwnLimiter limiter(String name, RateLimitPolicy policy, UnaryOperator<RateLimiterBuilder> more) {
        LimitFigures figures = new LimitFigures(hotKeys);
        RateLimiterBuilder builder = RateLimiter.builder(policy)
                .name(name)
                .store(stores.standard(policy, "limiter '" + name + "'"))
                .recorder(recorders.of(name))
                .keyRecorder(figures);
        return new OwnLimiter(more.apply(builder).build(), figures, stores.standardKind());
    }

    /**
     * A limiter of the application itself.
     *
     * @param limiter decides
     * @param figures counts its answers
     * @param store where it lives
     */
    record OwnLimiter(RateLimiter limiter, LimitFigures figures, StoreKind store) {}

    private void requests(LimitProperties limit, RateLimitRuleBuilder rule, String at) {
        List<String> paths = Properties.orNone(limit.paths());
        List<HttpMethod> methods = Properties.orNone(limit.methods()).stream()
                .map(RequestMethod::asHttpMethod)
                .toList();
        if (limit.onlyWhereNamed()) {
            Properties.check(paths.isEmpty(), at + ".paths", "are of no use: the limit is only where it is named");
            Properties.check(methods.isEmpty(), at + ".methods", "are of no use: the limit is only where it is named");
            rule.onlyWhereNamed();
            return;
        }
        Properties.of(at + ".paths", () -> rule.path(paths.toArray(String[]::new)));
        rule.methods(methods);
        exempt.ifPresent(rule::unless);
    }

    /** A client chooses whether it says how long a body is: unless told otherwise, one of unknown length costs all that rules then. */
    private static RequestCost cost(LimitProperties limit, RateLimiter limiter, LimitNumbers numbers, String at) {
        Long given = limit.cost();
        RequestCost fixed = Properties.of(at + ".cost", () -> RequestCost.fixed(given == null ? 1 : given));
        if (limit.bytesPerPermit() == null) {
            return isOnlyForSome(given, numbers) ? exchange -> fixed.permits(exchange) : fixed;
        }
        long bytes = limit.bytesPerPermit().toBytes();
        RequestCost checked = Properties.of(
                at + ".bytes-per-permit", () -> RequestCost.contentLength(bytes, given == null ? 1 : given));
        return given != null
                ? checked
                : exchange -> RequestCost.contentLength(bytes, limiter.policy().capacity())
                        .permits(exchange);
    }

    /** Whether only keys with a limit of their own can ever pay as much: a rule would refuse that, as it knows nothing of them. */
    private static boolean isOnlyForSome(@Nullable Long cost, LimitNumbers numbers) {
        return cost != null && numbers.overrides().values().stream().anyMatch(policy -> policy.capacity() >= cost);
    }

    /** Without authentication no request has a principal: a missing key would be the rule. */
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

    private static void countOnly(LimitProperties limit, RateLimitRuleBuilder rule, String at) {
        List<StatusSet> statuses = Properties.orNone(limit.countOnly());
        Properties.check(
                statuses.isEmpty() || limit.algorithm() != LimitProperties.Algorithm.CONCURRENCY,
                at + ".count-only",
                "is not for algorithm concurrency, whose permits come back anyway");
        if (!statuses.isEmpty()) {
            rule.countWhen(exchange -> {
                HttpStatusCode status = exchange.getResponse().getStatusCode();
                HttpStatusCode sent = status == null ? HttpStatus.OK : status;
                return statuses.stream().anyMatch(set -> set.contains(sent));
            });
        }
    }

    private ConfiguredLimit limited(
            LimitProperties limit, RateLimitRuleBuilder rule, String name, LimitNumbers numbers, String at) {
        LimitFigures figures = new LimitFigures(hotKeys);
        KeyPolicies overrides = numbers.overrides().isEmpty() ? null : new KeyPolicies(numbers.overrides());
        RateLimiterBuilder hard = RateLimiter.builder(numbers.policy())
                .name(name)
                .store(stores.of(limit, numbers.policy(), at))
                .recorder(recorders.of(name))
                .keyRecorder(figures);
        if (overrides != null) {
            hard.policyPerKey(overrides::of, OVERRIDES_KEPT);
        }
        Duration maxWait = maxWait(limit, at);
        RateLimiter soft = numbers.soft() == null ? null : soft(limit, name, numbers.soft(), at);
        rule.mode(Properties.of(at + ".max-wait", () -> mode(soft, maxWait)));
        RateLimiter limiter = Properties.of(at + ".limit", hard::build);
        rule.cost(cost(limit, limiter, numbers, at));
        RateLimitRule made = Properties.of(at, () -> rule.limiter(limiter).build());
        return new ConfiguredLimit(
                limit, made, soft, overrides, figures, stores.kind(limit), new AtomicReference<>(numbers));
    }

    private RateLimiter soft(LimitProperties limit, String name, RateLimitPolicy policy, String at) {
        String softName = name + ".soft";
        return Properties.of(
                at + ".soft-limit",
                () -> RateLimiter.builder(policy)
                        .name(softName)
                        .store(stores.of(limit, policy, at))
                        .recorder(recorders.of(softName))
                        .build());
    }

    private static @Nullable Duration maxWait(LimitProperties limit, String at) {
        boolean waits = limit.mode() == Mode.DELAY || limit.softLimit() != null;
        Properties.check(
                !waits || limit.maxWait() != null,
                at + ".max-wait",
                "is needed, such as 2s: requests wait with mode delay or a soft-limit");
        Properties.check(
                limit.mode() != Mode.REJECT || limit.maxWait() == null,
                at + ".max-wait",
                "is only for mode delay: with mode reject nobody waits");
        Properties.check(
                limit.mode() != Mode.REJECT || limit.softLimit() == null,
                at + ".soft-limit",
                "is only for mode delay: with mode reject nobody waits");
        return limit.maxWait();
    }

    private static RateLimitMode mode(@Nullable RateLimiter soft, @Nullable Duration maxWait) {
        if (maxWait == null) {
            return RateLimitMode.reject();
        }
        return soft == null ? RateLimitMode.delay(maxWait) : RateLimitMode.delayAbove(soft, maxWait);
    }
}
