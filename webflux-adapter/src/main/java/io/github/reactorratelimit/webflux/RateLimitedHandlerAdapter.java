package io.github.reactorratelimit.webflux;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.reactive.HandlerAdapter;
import org.springframework.web.reactive.HandlerResult;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Makes {@link RateLimited} work: runs before the adapter that calls controllers and evaluates the rules that a method
 * names. By then the handler is known and CORS is done: a denial has the CORS headers of {@code @CrossOrigin}, and a
 * preflight never comes here.
 *
 * <p>Register it as a bean. A name without a rule is an error of the first request; {@link #check} finds it when the
 * application starts.
 */
public final class RateLimitedHandlerAdapter implements HandlerAdapter, Ordered {

    private final RateLimitEngine engine;
    private final Supplier<? extends HandlerAdapter> controllers;
    private final Map<Key, Optional<List<RateLimitRule>>> rules = new ConcurrentHashMap<>();

    /** A method may be inherited by controllers whose annotations differ. */
    private record Key(Class<?> type, Method method) {}

    /**
     * An adapter in front of another.
     *
     * @param controllers yields the adapter that calls controllers, Spring's {@code RequestMappingHandlerAdapter}; asked when it is needed
     */
    public RateLimitedHandlerAdapter(RateLimitEngine engine, Supplier<? extends HandlerAdapter> controllers) {
        this.engine = Objects.requireNonNull(engine, "engine");
        this.controllers = Objects.requireNonNull(controllers, "controllers");
    }

    @Override
    public int getOrder() {
        return Ordered.HIGHEST_PRECEDENCE + 100;
    }

    @Override
    public boolean supports(Object handler) {
        return handler instanceof HandlerMethod method && rulesOf(method).isPresent();
    }

    @Override
    public Mono<HandlerResult> handle(ServerWebExchange exchange, Object handler) {
        List<RateLimitRule> asked = rulesOf((HandlerMethod) handler).orElseThrow();
        RequestPermits.requireFilterForConcurrency(exchange, asked);
        return engine.admit(
                exchange,
                asked,
                result -> result.allowed()
                        ? controllers.get().handle(exchange, handler)
                        : engine.deny(exchange, result).then(Mono.<HandlerResult>empty()));
    }

    /**
     * Checks that each annotation names a rule, and that all rules exist which these methods name.
     *
     * @throws IllegalArgumentException if not, naming the rule and the method
     */
    public void check(Iterable<HandlerMethod> methods) {
        methods.forEach(this::rulesOf);
    }

    private Optional<List<RateLimitRule>> rulesOf(HandlerMethod handler) {
        return rules.computeIfAbsent(new Key(handler.getBeanType(), handler.getMethod()), key -> find(handler));
    }

    private Optional<List<RateLimitRule>> find(HandlerMethod handler) {
        RateLimited limited = annotationOf(handler);
        if (limited == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(engine.named(List.of(limited.value())));
        } catch (IllegalArgumentException unknown) {
            throw new IllegalArgumentException(
                    "@RateLimited of " + handler.getShortLogMessage() + ": " + unknown.getMessage(), unknown);
        }
    }

    private static @Nullable RateLimited annotationOf(HandlerMethod handler) {
        RateLimited own = handler.getMethodAnnotation(RateLimited.class);
        return own == null ? AnnotatedElementUtils.findMergedAnnotation(handler.getBeanType(), RateLimited.class) : own;
    }
}
