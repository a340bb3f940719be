package io.github.reactorratelimit.examples.replay;

import me.tongfei.progressbar.ProgressBarConsumer;

/** Where progress goes that nobody wants to see. */
final class Silence implements ProgressBarConsumer {

    @Override
    public int getMaxRenderedLength() {
        return 0;
    }

    @Override
    public void accept(String progress) {}

    @Override
    public void close() {}
}
