package io.github.reactorratelimit.testing.redis;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** One direction of a proxied connection. All of it happens on the proxy's one thread. */
@SuppressWarnings("FutureReturnValueIgnored") // a write that fails closes its channel
final class Flow extends ChannelInboundHandlerAdapter {

    private final Channel source;
    private final Channel sink;
    private final Supplier<Treatment> treatment;
    private final Consumer<ByteBuf> counter;
    private final Queue<ByteBuf> held = new ArrayDeque<>();
    private final Queue<ByteBuf> underway = new ArrayDeque<>();
    private long lastDueNanos;
    private boolean tainted;
    private boolean lost;
    private boolean sourceClosed;

    Flow(Channel source, Channel sink, Supplier<Treatment> treatment, Consumer<ByteBuf> counter) {
        this.source = source;
        this.sink = sink;
        this.treatment = treatment;
        this.counter = counter;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ByteBuf chunk = (ByteBuf) message;
        counter.accept(chunk);
        if (lost) {
            drop(chunk);
        } else {
            treatment.get().handle(this, chunk);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        releaseHeld();
        sourceClosed = true;
        closeSinkWhenDone();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        reset();
    }

    /** Passes on in the order of arrival, and none earlier than its own delay. */
    void forward(ByteBuf chunk, long delayNanos) {
        long nowNanos = System.nanoTime();
        long dueNanos = nowNanos + delayNanos;
        if (underway.isEmpty() && delayNanos == 0) {
            sink.writeAndFlush(chunk);
            return;
        }
        lastDueNanos = underway.isEmpty() ? dueNanos : Math.max(dueNanos - lastDueNanos, 0) + lastDueNanos;
        underway.add(chunk);
        sink.eventLoop().schedule(this::deliverNext, lastDueNanos - nowNanos, TimeUnit.NANOSECONDS);
    }

    /** Takes the head, whichever chunk's timer this is: timers of one instant may fire in any order. */
    private void deliverNext() {
        sink.writeAndFlush(underway.remove());
        closeSinkWhenDone();
    }

    private void closeSinkWhenDone() {
        if (sourceClosed && underway.isEmpty()) {
            sink.close();
        }
    }

    /** Swallows everything from now on, whatever the treatment. */
    void lose() {
        lost = true;
    }

    void hold(ByteBuf chunk) {
        held.add(chunk);
    }

    void drop(ByteBuf chunk) {
        chunk.release();
        tainted = true;
    }

    void cut(ByteBuf chunk, int bytes) {
        ByteBuf rest = chunk.readSlice(Math.min(bytes, chunk.readableBytes()));
        sink.writeAndFlush(rest).addListener(ChannelFutureListener.CLOSE);
        source.close();
    }

    /** The treatment has changed. */
    void renew() {
        if (tainted) {
            reset();
            return;
        }
        List<ByteBuf> waiting = List.copyOf(held);
        held.clear();
        waiting.forEach(chunk -> treatment.get().handle(this, chunk));
    }

    /** Ends both sides with a TCP reset. */
    void reset() {
        resetOne(source);
        resetOne(sink);
        releaseHeld();
    }

    private void releaseHeld() {
        held.forEach(ByteBuf::release);
        held.clear();
    }

    private static void resetOne(Channel channel) {
        if (channel.isOpen()) {
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            channel.close();
        }
    }
}
