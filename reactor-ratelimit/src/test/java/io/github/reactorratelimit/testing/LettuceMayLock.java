package io.github.reactorratelimit.testing;

import reactor.blockhound.BlockHound;
import reactor.blockhound.integration.BlockHoundIntegration;

/**
 * Lets Lettuce take the lock that guards its writers, for which two threads may have to wait for each other. An error thrown
 * there makes it count its writers wrongly, and from then on every command spins for ever.
 */
public final class LettuceMayLock implements BlockHoundIntegration {

    private static final String LOCK = "io.lettuce.core.protocol.SharedLock";

    @Override
    public void applyTo(BlockHound.Builder builder) {
        builder.allowBlockingCallsInside(LOCK, "incrementWriters")
                .allowBlockingCallsInside(LOCK, "doExclusive")
                .allowBlockingCallsInside(LOCK, "lockWritersExclusive");
    }
}
