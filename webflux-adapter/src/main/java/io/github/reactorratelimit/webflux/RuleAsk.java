package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.RateLimiter;

/** What one rule asks for one request. Has no {@code toString} that could show the key. */
record RuleAsk(RateLimitRule rule, String key, long permits) {

    RateLimiter.PermitRequest asked() {
        return new RateLimiter.PermitRequest(rule.limiter(), key, permits);
    }

    @Override
    public String toString() {
        return permits + " of rule '" + rule.name() + "'";
    }
}
