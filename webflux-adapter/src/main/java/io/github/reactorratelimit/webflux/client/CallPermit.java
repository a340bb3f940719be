package io.github.reactorratelimit.webflux.client;

import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.web.reactive.function.client.ClientResponse;

/** What a call has of a limiter until it is over. */
interface CallPermit {

    /** How a call was over. */
    enum Ending {
        /** There was no answer, or nothing was sent at all. */
        FAILED,
        /** Something may have been sent, and the caller left before it had the answer, or before it began to read it. */
        GIVEN_UP,
        /** The body was read, to its end or not. */
        READ
    }

    /** There is an answer. What it throws fails the call. */
    default void answered(ClientResponse answer) {}

    /** A piece of the body is about to be passed on; one after the other. */
    default void read(DataBuffer piece) {}

    /** It is over; called once. */
    void end(Ending ending);
}
