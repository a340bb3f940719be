package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.webflux.observation.RateLimitObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.core.SpringVersion;
import org.springframework.http.HttpHeaders;
import org.springframework.util.MultiValueMap;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPatternParser;

/** Builds a {@link RateLimitEngine}. */
public final class RateLimitEngineBuilder {

    final List<RateLimitRule> rules = new ArrayList<>();

    @Nullable
    Predicate<ServerWebExchange> exempt;

    @Nullable
    Predicate<ServerWebExchange> managed;

    PathPatternParser parser = PathPatternParser.defaultInstance;
    HeaderOptions headers = HeaderOptions.defaults();
    DenialCors cors = DenialCors.none();
    RateLimitDeniedHandler deniedHandler = RateLimitDeniedHandler.problem();
    Duration keyTimeout = Duration.ofSeconds(5);

    @Nullable
    DecisionObserver observer;

    RateLimitEngineBuilder() {
        requireSpring7();
    }

    /**
     * Spring 6 has other headers: an application would start, and break at the first denial.
     *
     * @throws IllegalStateException if an older Spring Framework is on the class path
     */
    private static void requireSpring7() {
        if (MultiValueMap.class.isAssignableFrom(HttpHeaders.class)) {
            throw new IllegalStateException("reactor-ratelimit-webflux needs Spring Framework 7, that is Spring Boot 4,"
                    + " and found Spring Framework " + SpringVersion.getVersion()
                    + ": update spring-boot-starter-parent or spring-boot-dependencies to 4.0 or later");
        }
    }

    /**
     * Adds a rule. Rules are asked in the order in which they are added: put the one most likely to deny first.
     *
     * @throws IllegalArgumentException if there is one of the same name
     */
    public RateLimitEngineBuilder rule(RateLimitRule rule) {
        if (rules.stream().anyMatch(other -> other.name().equals(rule.name()))) {
            throw new IllegalArgumentException("there are two rate limit rules of the name '" + rule.name() + "'");
        }
        rules.add(rule);
        return this;
    }

    /** Adds rules. */
    public RateLimitEngineBuilder rules(Collection<RateLimitRule> rules) {
        rules.forEach(this::rule);
        return this;
    }

    /** Callers to which no rule applies: an allow-list. Of several, each exempts. It runs on the event loop and must not block. */
    public RateLimitEngineBuilder exempt(Predicate<? super ServerWebExchange> internal) {
        this.exempt = either(exempt, Objects.requireNonNull(internal, "internal"));
        return this;
    }

    /**
     * Requests that only rules with paths apply to: endpoints by which an application is watched and managed. Of several predicates, each takes
     * requests out. It runs on the event loop and must not block.
     */
    public RateLimitEngineBuilder onlyWherePathsAreGiven(Predicate<? super ServerWebExchange> managed) {
        this.managed = either(this.managed, Objects.requireNonNull(managed, "managed"));
        return this;
    }

    private static Predicate<ServerWebExchange> either(
            @Nullable Predicate<ServerWebExchange> before, Predicate<? super ServerWebExchange> another) {
        return before == null ? another::test : before.or(another);
    }

    /**
     * Reads the patterns of the rules: the application's own parser, that of its {@code RequestMappingHandlerMapping}, so
     * that a rule and a handler agree about upper and lower case. Spring's default one, unless given.
     */
    public RateLimitEngineBuilder parser(PathPatternParser parser) {
        this.parser = Objects.requireNonNull(parser, "parser");
        return this;
    }

    /** Which header fields are sent. */
    public RateLimitEngineBuilder headers(HeaderOptions headers) {
        this.headers = Objects.requireNonNull(headers, "headers");
        return this;
    }

    /** Where the CORS headers of denials come from; none are written, unless given. */
    public RateLimitEngineBuilder cors(DenialCors cors) {
        this.cors = Objects.requireNonNull(cors, "cors");
        return this;
    }

    /** Who writes the body of denials. */
    public RateLimitEngineBuilder deniedHandler(RateLimitDeniedHandler deniedHandler) {
        this.deniedHandler = Objects.requireNonNull(deniedHandler, "deniedHandler");
        return this;
    }

    /**
     * How long a key may take to be found; then the request is denied with 503. 5 seconds, unless given.
     *
     * @throws IllegalArgumentException if it is not above zero
     */
    public RateLimitEngineBuilder keyTimeout(Duration keyTimeout) {
        if (keyTimeout.isZero() || keyTimeout.isNegative()) {
            throw new IllegalArgumentException("keyTimeout must be positive, was " + keyTimeout);
        }
        this.keyTimeout = keyTimeout;
        return this;
    }

    /**
     * Where decisions are observed: {@code ratelimit.requests}, with the limit and the outcome. Nowhere, unless given; a registry without
     * handlers costs nothing.
     */
    public RateLimitEngineBuilder observations(ObservationRegistry registry) {
        return observations(registry, null);
    }

    /**
     * The same, named and described by a convention.
     *
     * @param convention null for the default one
     */
    public RateLimitEngineBuilder observations(
            ObservationRegistry registry, @Nullable RateLimitObservationConvention convention) {
        this.observer = new DecisionObserver(Objects.requireNonNull(registry, "registry"), convention);
        return this;
    }

    /** Builds the engine. */
    public RateLimitEngine build() {
        return new RateLimitEngine(this);
    }
}
