package io.github.reactorratelimit.webflux.client;

import java.util.function.ToLongFunction;
import org.springframework.web.reactive.function.client.ClientResponse;

/** How it is known what a call really cost. */
sealed interface ActualCost {

    /** By the bytes of the body. */
    record Bytes() implements ActualCost {}

    /** By the head of the answer. */
    record OfAnswer(ToLongFunction<? super ClientResponse> permits) implements ActualCost {}
}
