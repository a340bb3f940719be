package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import reactor.core.publisher.Flux;

/** Limits each customer apart: what one of them spends is not missing to another. */
public final class KeyedOrders {

    private record Order(String customer, int lines) {}

    private KeyedOrders() {}

    /**
     * Runs the example.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        Flux<Order> orders = Flux.just(
                new Order("alice", 3),
                new Order("alice", 2),
                new Order("alice", 1),
                new Order("bob", 4),
                new Order("alice", 1),
                new Order("bob", 1));

        System.out.println("drop what is over 5 lines an hour for each customer");
        RateLimiter perCustomer = RateLimiter.of(TokenBucket.perHour(5));
        orders.transform(limitRate(
                        perCustomer,
                        spec -> spec.key(Order::customer)
                                .cost(Order::lines)
                                .drop((order, decision) -> print("dropped", order))))
                .doOnNext(order -> print("passed ", order))
                .blockLast();

        System.out.println("replace it");
        RateLimiter another = RateLimiter.of(TokenBucket.perHour(5));
        orders.transform(limitRate(
                        another,
                        spec -> spec.key(Order::customer)
                                .cost(Order::lines)
                                .fallback((order, decision) -> new Order(order.customer(), 0))))
                .doOnNext(order -> print("passed ", order))
                .blockLast();
    }

    private static void print(String what, Order order) {
        System.out.printf("  %s %d lines of %s%n", what, order.lines(), order.customer());
    }
}
