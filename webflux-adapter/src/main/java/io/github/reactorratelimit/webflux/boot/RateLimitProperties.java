package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.HeaderOptions;
import io.github.reactorratelimit.webflux.key.Cidr;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.core.Ordered;

/**
 * The {@code reactor-ratelimit.*} properties.
 *
 * <pre>{@code
 * reactor-ratelimit:
 *   limits:
 *     per-client:
 *       key: ip
 *       limit: 100 per minute
 * }</pre>
 *
 * @param enabled Whether requests are limited at all.
 * @param limits The limits by name. All that match a request apply to it, by their order, then by their name.
 * @param store Where the state of the limits lives. Default: redis if the application has it.
 * @param maxKeys Keys that each limit holds in this process. More keys share cells, which is stricter and never laxer: with far more
 *     keys, 12 to 81 % of innocent requests are denied.
 * @param keyTimeout How long the key of a request may take to be found; then it is denied with 503.
 * @param clientAddress How the address of a client is found.
 * @param allowList Clients that are not limited.
 * @param headers Header fields about the limits of a client.
 * @param redis How Redis is used.
 * @param gateway How Spring Cloud Gateway is limited.
 * @param actuator What the endpoint shows.
 */
@ConfigurationProperties(prefix = "reactor-ratelimit", ignoreUnknownFields = false)
public record RateLimitProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue Map<String, LimitProperties> limits,
        LimitProperties.@Nullable StoreKind store,
        @DefaultValue("1000000") int maxKeys,
        @DefaultValue("5s") Duration keyTimeout,
        @DefaultValue Address clientAddress,
        @DefaultValue AllowList allowList,
        @DefaultValue Headers headers,
        @DefaultValue Redis redis,
        @DefaultValue Gateway gateway,
        @DefaultValue Actuator actuator) {

    /** The limits in the order in which they apply. Names that differ only by case and dashes are one limit. */
    public RateLimitProperties {
        Map<String, String> names = new TreeMap<>();
        limits.keySet().forEach(name -> names.merge(uniform(name), name, RateLimitProperties::preferred));
        Map<String, LimitProperties> bound = limits;
        Map<String, LimitProperties> ordered = new LinkedHashMap<>();
        names.values().stream()
                .sorted(Comparator.comparingInt((String name) -> orderOf(bound.get(name)))
                        .thenComparing(Comparator.naturalOrder()))
                .forEach(name -> ordered.put(name, Objects.requireNonNull(bound.get(name))));
        limits = Collections.unmodifiableMap(ordered);
    }

    private static String uniform(String name) {
        return name.replaceAll("[-_]", "").toLowerCase(Locale.ROOT);
    }

    /** An environment variable has no dashes: the name of a file is longer. */
    private static String preferred(String one, String other) {
        int longer = Integer.compare(one.length(), other.length());
        return longer > 0 || (longer == 0 && one.compareTo(other) > 0) ? one : other;
    }

    private static int orderOf(@Nullable LimitProperties limit) {
        return limit == null || limit.order() == null ? Ordered.LOWEST_PRECEDENCE : limit.order();
    }

    /** Which fields RateLimit and RateLimit-Policy are sent. */
    public enum StandardFields {
        /** Not sent. */
        OFF,
        /** Those of draft-ietf-httpapi-ratelimit-headers-10. */
        DRAFT_10
    }

    /** Which word about a client's address is believed. */
    public enum AddressSource {
        /** The other end of the connection. */
        PEER,
        /** What the server says, behind the PROXY protocol for example. */
        REPORTED_BY_SERVER,
        /** What trusted proxies wrote into {@code X-Forwarded-For}. */
        X_FORWARDED_FOR,
        /** What trusted proxies wrote into {@code Forwarded} (RFC 7239). */
        FORWARDED
    }

    /**
     * How the address of a client is found.
     *
     * @param source Which word about it is believed. x-forwarded-for if there are trusted proxies, otherwise peer.
     * @param trustedProxies Networks of the proxies whose word is believed, such as 10.0.0.0/8.
     * @param trustedHops Number of proxies in front of the application, instead of their networks.
     * @param ipv4Prefix IPv4 addresses count together if so many leading bits are equal.
     * @param ipv6Prefix IPv6 addresses count together if so many leading bits are equal.
     */
    public record Address(
            @Nullable AddressSource source,
            @Nullable List<Cidr> trustedProxies,
            @Nullable Integer trustedHops,
            @DefaultValue("32") int ipv4Prefix,
            @DefaultValue("64") int ipv6Prefix) {}

    /**
     * Clients that are not limited by the limits of the configuration.
     *
     * @param networks Networks whose clients are not limited.
     * @param secretHeader Header in which callers that are not limited send a secret.
     * @param secrets The secrets, at least 16 characters each; several while one is being replaced.
     */
    public record AllowList(
            @Nullable List<Cidr> networks,
            @Nullable String secretHeader,
            @Nullable List<String> secrets) {

        /** Never the secrets. */
        @Override
        public String toString() {
            return "AllowList[networks=" + networks + ", secretHeader=" + secretHeader + "]";
        }
    }

    /**
     * Header fields about the limits of a client.
     *
     * @param standard Which RateLimit and RateLimit-Policy are sent: of draft 10 of draft-ietf-httpapi-ratelimit-headers, or off.
     * @param legacy Whether X-RateLimit-Limit, -Remaining and -Reset are sent, and in which form the latter is.
     * @param retryAfterJitter Part of the time, 0 to 1, by which Retry-After may be later than necessary, at random.
     */
    public record Headers(
            @DefaultValue("draft-10") StandardFields standard,
            @DefaultValue("off") HeaderOptions.Legacy legacy,
            @DefaultValue("0.1") double retryAfterJitter) {}

    /**
     * How Redis is used.
     *
     * @param uri Redis for the limits alone, such as redis://host:6379, rediss:// for TLS, or redis-sentinel://host:26379#master. The application's
     *     own, if it has one, unless given.
     * @param clusterUris Nodes of a Redis Cluster for the limits alone; the others are found through them.
     * @param prefix What the keys begin with. ratelimit:${spring.application.name} unless given, or ratelimit if the application has no name.
     * @param deadline How long a call may take.
     * @param whenUnavailable What limits answer while Redis does not. With local, instances must be given.
     * @param instances Number of instances of the application, each of which gives out its share while Redis is away.
     * @param policyEpoch Of instances with different limits, those with the highest epoch rule. Raise it with every change of a limit; 0 for none.
     */
    public record Redis(
            @Nullable String uri,
            @Nullable List<String> clusterUris,
            @Nullable String prefix,
            @DefaultValue("50ms") Duration deadline,
            @DefaultValue("closed") LimitProperties.WhenUnavailable whenUnavailable,
            @Nullable Integer instances,
            @DefaultValue("0") long policyEpoch) {

        /** Never the addresses, which may hold a password. */
        @Override
        public String toString() {
            return "Redis[prefix=" + prefix + ", deadline=" + deadline + ", whenUnavailable=" + whenUnavailable
                    + ", policyEpoch=" + policyEpoch + "]";
        }
    }

    /**
     * How Spring Cloud Gateway is limited.
     *
     * @param enabled Whether limits are the rate limiter of Spring Cloud Gateway, where that is on the class path.
     */
    public record Gateway(@DefaultValue("true") boolean enabled) {}

    /**
     * What the endpoint shows.
     *
     * @param hotKeys How many of the keys most used and most denied are shown, hashed; 0 for none.
     */
    public record Actuator(@DefaultValue("10") int hotKeys) {}
}
