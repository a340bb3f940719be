package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import java.net.URI;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;

/**
 * How the calls of a {@code WebClient} request permits: with which key, at what cost, how long they wait, and what is
 * learned from answers. An immutable value: each method returns another one, and the last of several calls about the same
 * choice counts.
 *
 * <p>By default each host and port has a key, a call costs one permit and waits indefinitely, and everything that answers
 * say about limits is used. If a key or cost function throws, the call fails with that error and nothing is spent.
 */
public final class OutboundSpec {

    static final OutboundSpec DEFAULTS = new OutboundSpec(
            OutboundSpec::hostAndPort, request -> 1, Duration.ofNanos(Long.MAX_VALUE), ServerLimitSpec.DEFAULTS, null);

    private static final int HTTP = 80;
    private static final int HTTPS = 443;

    private final Function<? super ClientRequest, @Nullable String> key;
    private final ToLongFunction<? super ClientRequest> cost;
    final Duration maxWait;
    final ServerLimitSpec learning;
    final @Nullable ActualCost actual;

    private OutboundSpec(
            Function<? super ClientRequest, @Nullable String> key,
            ToLongFunction<? super ClientRequest> cost,
            Duration maxWait,
            ServerLimitSpec learning,
            @Nullable ActualCost actual) {
        this.key = key;
        this.cost = cost;
        this.maxWait = maxWait;
        this.learning = learning;
        this.actual = actual;
    }

    /** A key for each host and port, in lower case: {@code api.example.com:443}. The default. */
    public OutboundSpec keyPerHost() {
        return key(OutboundSpec::hostAndPort);
    }

    /**
     * One key for all calls.
     *
     * @throws IllegalArgumentException if it is empty
     */
    public OutboundSpec key(String all) {
        if (Objects.requireNonNull(all, "all").isEmpty()) {
            throw new IllegalArgumentException("key must not be empty");
        }
        return key(request -> all);
    }

    /** The key of a call: of a route, a tenant. */
    public OutboundSpec key(Function<? super ClientRequest, @Nullable String> ofRequest) {
        Objects.requireNonNull(ofRequest, "ofRequest");
        return new OutboundSpec(ofRequest, cost, maxWait, learning, actual);
    }

    /** The key of a call is a request attribute, by its {@code toString}; a call without it fails. */
    public OutboundSpec keyFromAttribute(String name) {
        Objects.requireNonNull(name, "name");
        return key(request -> request.attribute(name)
                .map(Object::toString)
                .orElseThrow(() -> new IllegalArgumentException(
                        "request has no attribute '" + name + "', which is the key of its limit")));
    }

    /**
     * Permits that each call costs. Default: 1.
     *
     * @throws IllegalArgumentException if it is below 1
     */
    public OutboundSpec cost(long permits) {
        if (permits < 1) {
            throw new IllegalArgumentException("permits must be positive, was " + permits);
        }
        return cost(request -> permits);
    }

    /** Permits that a call costs, at least 1. */
    public OutboundSpec cost(ToLongFunction<? super ClientRequest> permits) {
        Objects.requireNonNull(permits, "permits");
        return new OutboundSpec(key, permits, maxWait, learning, actual);
    }

    /**
     * Charges the bytes of the answer's body, as they arrive. The {@linkplain #cost(long) cost} is an estimate: it is
     * reserved before the request is sent, a surplus is charged without a decision, and the difference is settled when the
     * body was read, failed or was cancelled. A call that fails or is cancelled before there is an answer costs nothing.
     */
    public OutboundSpec chargeBytes() {
        return new OutboundSpec(key, cost, maxWait, learning, new ActualCost.Bytes());
    }

    /**
     * Charges the cost that an answer states, such as the tokens in one of its headers. The {@linkplain #cost(long) cost}
     * is an estimate: it is reserved before the request is sent, and settled when there is an answer. A call that fails
     * costs nothing. One that is cancelled before there is an answer costs the estimate, because the server may have
     * handled it.
     *
     * @param permits at least 0; must not read the body. If it throws or returns less, the call costs the estimate and fails
     */
    public OutboundSpec charge(ToLongFunction<? super ClientResponse> permits) {
        Objects.requireNonNull(permits, "permits");
        return new OutboundSpec(key, cost, maxWait, learning, new ActualCost.OfAnswer(permits));
    }

    /**
     * How long a call may wait: zero never waits. A call that would wait longer is denied immediately, at no cost.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public OutboundSpec maxWait(Duration longest) {
        if (Objects.requireNonNull(longest, "longest").isNegative()) {
            throw new IllegalArgumentException("maxWait must not be negative, was " + longest);
        }
        return new OutboundSpec(key, cost, longest, learning, actual);
    }

    /** Never waits: a call without a permit available fails with {@link RateLimitExceededException}. */
    public OutboundSpec reject() {
        return maxWait(Duration.ZERO);
    }

    /** What is learned from answers. */
    public OutboundSpec learn(UnaryOperator<ServerLimitSpec> spec) {
        ServerLimitSpec chosen = Objects.requireNonNull(spec, "spec").apply(learning);
        return new OutboundSpec(key, cost, maxWait, Objects.requireNonNull(chosen, "what spec returned"), actual);
    }

    /** Nothing is learned from answers. */
    public OutboundSpec withoutLearning() {
        return learn(all -> all.retryAfter(false).rateLimitFields(false).legacyFields(false));
    }

    void check(RateLimitPolicy policy) {
        if (actual != null && !policy.settles()) {
            throw new IllegalArgumentException("calls cannot be charged by what they really cost with " + policy
                    + ": its permits cannot be settled");
        }
    }

    String keyOf(ClientRequest request) {
        String found = key.apply(request);
        if (found == null || found.isEmpty()) {
            throw new IllegalArgumentException(
                    "the key of a request must not be " + (found == null ? "null" : "empty"));
        }
        return found;
    }

    long costOf(ClientRequest request) {
        return cost.applyAsLong(request);
    }

    private static String hostAndPort(ClientRequest request) {
        URI url = request.url();
        String host = url.getHost();
        if (host == null) {
            throw new IllegalArgumentException("request has no host, which is the key of its limit");
        }
        int standard = "https".equalsIgnoreCase(url.getScheme()) ? HTTPS : HTTP;
        int port = url.getPort() < 0 ? standard : url.getPort();
        return host.toLowerCase(Locale.ROOT) + ":" + port;
    }
}
