import type { ReactNode } from "react";
import { Modal as AriaModal, Dialog, Heading, ModalOverlay } from "react-aria-components";

interface ModalProps {
  readonly title: string;
  readonly className?: string;
  readonly children: ReactNode;
  onClose(): void;
}

/** A dialog over the page: Escape or a click outside closes it, and the focus returns to where it was. */
export function Modal({ title, className = "", children, onClose }: ModalProps) {
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={open => !open && onClose()}>
      <AriaModal className={`modal ${className}`}>
        <Dialog className="dialog">
          <Heading slot="title" className="dialog-title">
            {title}
          </Heading>
          {children}
        </Dialog>
      </AriaModal>
    </ModalOverlay>
  );
}
