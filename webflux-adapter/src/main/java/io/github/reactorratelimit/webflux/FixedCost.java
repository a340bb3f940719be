package io.github.reactorratelimit.webflux;

import org.springframework.web.server.ServerWebExchange;

/** The same cost for every request: a rule can tell when it is built whether its limit ever gives that much. */
record FixedCost(long permits) implements RequestCost {

    FixedCost {
        if (permits < 1) {
            throw new IllegalArgumentException("cost must be positive, was " + permits);
        }
    }

    @Override
    public long permits(ServerWebExchange exchange) {
        return permits;
    }
}
