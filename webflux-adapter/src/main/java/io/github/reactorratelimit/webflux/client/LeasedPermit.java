package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.Lease;

/** Permits that come back when the call is over. */
record LeasedPermit(Lease lease) implements CallPermit {

    /** A store that does not answer has counted that, and the lease ends by itself. */
    @Override
    public void end(Ending ending) {
        lease.release().subscribe(done -> {}, lost -> {});
    }
}
