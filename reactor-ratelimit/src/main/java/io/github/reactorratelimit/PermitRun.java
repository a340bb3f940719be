package io.github.reactorratelimit;

import java.util.function.BooleanSupplier;

/**
 * Permits for the elements that one stream delivers one right after the other, on one thread. Where the
 * store can, permits for several elements are taken in one step and spent one by one; what is left over
 * goes back at the {@linkplain #end() end}.
 *
 * <p>Made by {@link RateLimiter#run}, for one key and one cost. Used by one thread at a time; nothing is
 * taken before the first element.
 */
public interface PermitRun {

    /**
     * Takes the permits of the next element, if they are there at once. {@code false} means denied, or not
     * known without asking the store; nothing is held then.
     *
     * @param most how many elements, this one included, could be delivered now, at least 1
     */
    boolean tryNext(long most);

    /** Gives back what was taken for elements that did not come; any number of calls give back once. The run may go on later. */
    void end();

    /** Takes nothing ahead: every element asks for itself. */
    static PermitRun oneByOne(BooleanSupplier tryNext) {
        return new PermitRun() {
            @Override
            public boolean tryNext(long most) {
                return tryNext.getAsBoolean();
            }

            @Override
            public void end() {}
        };
    }
}
