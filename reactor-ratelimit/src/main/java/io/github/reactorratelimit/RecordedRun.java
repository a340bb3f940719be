package io.github.reactorratelimit;

/** Counts every element that passes as one decision; what was taken ahead and went back is not counted. */
record RecordedRun(PermitRun actual, RateLimitRecorder recorder, long permits) implements PermitRun {

    @Override
    public boolean tryNext(long most) {
        boolean allowed = actual.tryNext(most);
        if (allowed) {
            recorder.decided(true, permits);
        }
        return allowed;
    }

    @Override
    public void end() {
        actual.end();
    }
}
