package io.github.reactorratelimit.webflux;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;

/** The result of evaluating the rules of a request. Contains no key. */
public final class RateLimitResult {

    static final RateLimitResult ALLOWED = new RateLimitResult(null, List.of());

    private final @Nullable RateLimitDenial denial;
    private final List<Grant> grants;
    private final HttpHeaders headers;

    /** @param grants what the request holds; of a denied one, what it held when it was denied */
    RateLimitResult(@Nullable RateLimitDenial denial, List<Grant> grants) {
        this(denial, grants, HttpHeaders.EMPTY);
    }

    RateLimitResult(@Nullable RateLimitDenial denial, List<Grant> grants, HttpHeaders headers) {
        this.denial = denial;
        this.grants = grants;
        this.headers = headers;
    }

    /** Whether the request may continue. */
    public boolean allowed() {
        return denial == null;
    }

    /** Why the request was denied; null if it was allowed. */
    public @Nullable RateLimitDenial denial() {
        return denial;
    }

    /** The header fields to send, for callers that write the response themselves; otherwise the response has them. */
    public HttpHeaders headers() {
        return headers;
    }

    List<Grant> grants() {
        return grants;
    }

    @Override
    public String toString() {
        return denial == null ? "allowed" : denial.toString();
    }
}
