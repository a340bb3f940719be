package io.github.reactorratelimit.webflux;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;

/** What a rule answered where the caller writes the response itself. Has no key in it. */
public final class RateLimitAnswer {

    private final @Nullable RateLimitDenial denial;
    private final HttpHeaders headers;

    RateLimitAnswer(@Nullable RateLimitDenial denial, HttpHeaders headers) {
        this.denial = denial;
        this.headers = headers;
    }

    /** Whether the request may pass. */
    public boolean allowed() {
        return denial == null;
    }

    /** Why it may not pass; empty if it may. */
    public Optional<RateLimitDenial> denial() {
        return Optional.ofNullable(denial);
    }

    /** The fields for the response, as the engine is told to send them. */
    public HttpHeaders headers() {
        return headers;
    }

    @Override
    public String toString() {
        return denial == null ? "allowed" : denial.toString();
    }
}
